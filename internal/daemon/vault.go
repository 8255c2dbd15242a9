package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"paddock/internal/store"
	"paddock/internal/vault"
)

// openVault takes the key with which secrets are kept: the one in the data
// folder, or a new one, as long as nothing was sealed with another. That the
// store's secrets cannot be read is found here, and not when they are needed.
func openVault(ctx context.Context, cfg Config, st store.Reader) (*vault.Vault, error) {
	file := filepath.Join(cfg.DataDir, "secrets.key")
	sealed, err := st.Environments(ctx, store.EnvironmentFilter{Sealed: true, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("look for secrets: %w", err)
	}
	v, err := vault.Open(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(sealed) == 0:
		return vault.Create(file)
	case errors.Is(err, fs.ErrNotExist):
		return nil, &MisconfiguredError{fmt.Errorf("%s, the key of the secrets that are stored here, is gone; put it back, from a backup perhaps", file)}
	case err != nil:
		return nil, &MisconfiguredError{err}
	case len(sealed) > 0:
		if _, err := v.Unseal(sealed[0].ID.String(), sealed[0].Sealed); err != nil {
			return nil, &MisconfiguredError{fmt.Errorf("%s is not the key of the secrets that are stored here; put that back, from a backup perhaps", file)}
		}
	}
	return v, nil
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"paddock/internal/environment"
	"paddock/internal/fault"
	"paddock/internal/id"
	"paddock/internal/redaction"
	"paddock/internal/sandbox"
	"paddock/internal/store"
)

// Values of secrets are in three places: in the memory of this server, in the
// sandboxes whose variables they are, and sealed in their environment. The store
// and everybody who reads from it see them nowhere else.

var errNoVault = fault.New(fault.NotSupported, "secrets: this server has no key to keep them with")

// seal puts the values of the environment's secrets away, and has them count in
// what its content is known by.
func (e *Engine) seal(env *environment.Environment) error {
	if len(env.Spec.Secrets) == 0 {
		return nil
	}
	if e.vault == nil {
		return errNoVault
	}
	values := map[string]string{}
	marked := []string{env.ContentHash}
	for _, s := range env.Spec.Secrets {
		values[s.Name] = s.Value.Reveal()
		marked = append(marked, s.Name, values[s.Name])
	}
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("encode secrets: %w", err)
	}
	env.ContentHash = e.vault.Mark(marked...)
	env.Sealed, err = e.vault.Seal(env.ID.String(), text)
	return err
}

// unseal gives the environment's spec with the values of its secrets, and with
// the placeholders that its sandboxes hold for those that are brokered.
func (e *Engine) unseal(env environment.Environment) (environment.Spec, error) {
	spec := env.Spec
	if len(spec.Secrets) == 0 {
		return spec, nil
	}
	if e.vault == nil {
		return spec, errNoVault
	}
	text, err := e.vault.Unseal(env.ID.String(), env.Sealed)
	if err != nil {
		return spec, err
	}
	var values map[string]string
	if err := json.Unmarshal(text, &values); err != nil {
		return spec, errors.New("what is sealed is no list of secrets")
	}
	spec.Secrets = slices.Clone(spec.Secrets)
	for i := range spec.Secrets {
		s := &spec.Secrets[i]
		value, ok := values[s.Name]
		if !ok {
			return spec, fmt.Errorf("the value of secret %s is not there", s.Name)
		}
		s.Value = environment.Conceal(value)
	}
	return e.withPlaceholders(spec, env.ID), nil
}

func (e *Engine) withPlaceholders(spec environment.Spec, of id.Environment) environment.Spec {
	spec.Secrets = slices.Clone(spec.Secrets)
	for i := range spec.Secrets {
		if s := &spec.Secrets[i]; s.Brokered() {
			s.Placeholder = e.vault.Placeholder(of.String(), s.Name)
		}
	}
	return spec
}

// brokered lists what the machine of an unsealed spec holds placeholders for.
func brokered(spec environment.Spec) (list []sandbox.Brokered) {
	for _, s := range spec.Secrets {
		if s.Brokered() {
			list = append(list, sandbox.Brokered{
				Name: s.Name, Host: s.Host, Header: s.Header, Placeholder: s.Placeholder, Value: s.Value.Reveal(),
			})
		}
	}
	return list
}

// maxVeils bounds the veils that are kept; a veil that is not is made again.
const maxVeils = 4096

// veils keep, by environment, what the values of its secrets are hidden with.
type veils struct {
	mu    sync.Mutex
	known map[id.Environment]*redaction.Veil // nil for one without secrets
}

// veil gives that of an environment. Nothing is hidden of secrets that cannot be
// unsealed: no machine is started, or taken up, that has them.
func (e *Engine) veil(ctx context.Context, r store.Reader, of id.Environment) (*redaction.Veil, error) {
	if of.IsZero() {
		return nil, nil
	}
	e.veils.mu.Lock()
	veil, known := e.veils.known[of]
	e.veils.mu.Unlock()
	if known {
		return veil, nil
	}
	env, err := r.Environment(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("read environment: %w", err)
	}
	if env.Sealed != nil {
		spec, err := e.unseal(env)
		if err != nil {
			e.log.ErrorContext(ctx, "unseal secrets", "environment_id", of, "error", err)
		}
		values := map[string]string{}
		for _, s := range spec.Secrets {
			values[s.Name] = s.Value.Reveal()
		}
		veil = redaction.New(values)
	}
	e.veils.mu.Lock()
	defer e.veils.mu.Unlock()
	if len(e.veils.known) >= maxVeils {
		clear(e.veils.known)
	}
	e.veils.known[of] = veil
	return veil, nil
}

// forgetSecrets drops what is known of a removed environment's values.
func (e *Engine) forgetSecrets(of id.Environment) {
	e.veils.mu.Lock()
	defer e.veils.mu.Unlock()
	delete(e.veils.known, of)
}

package archtest

import (
	"path/filepath"
	"testing"
)

// TestMigrationNumbers checks that no two migrations have one number, which two
// changes that were made side by side bring about: no store would open.
func TestMigrationNumbers(t *testing.T) {
	files, err := filepath.Glob("../store/sqlstore/migrations/*/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no migrations were found", err)
	}
	taken := map[string]string{}
	for _, file := range files {
		folder, name := filepath.Split(file)
		number := folder + name[:min(4, len(name))]
		if other := taken[number]; other != "" {
			t.Errorf("%s and %s have one number", other, name)
		}
		taken[number] = name
	}
}

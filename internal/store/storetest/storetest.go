package storetest

import (
	"testing"

	"paddock/internal/store"
)

// Run tries an implementation. open opens a fresh, empty store and sees to it
// that it is closed when its test ends.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"update", updateCases},
		{"session", sessionCases},
		{"sessions", sessionListCases},
		{"run", runCases},
		{"approval", approvalCases},
		{"event", eventCases},
		{"team event", teamEventCases},
		{"record", recordCases},
		{"template", templateCases},
		{"census", censusCases},
		{"receipt", receiptCases},
		{"notice", noticeCases},
		{"trim", trimCases},
		{"retention", retentionCases},
		{"race", raceCases},
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) { c.run(newFixture(t, open(t))) })
			}
		})
	}
	t.Run("log property", func(t *testing.T) { logProperty(t, open) })
	t.Run("trim property", func(t *testing.T) { trimProperty(t, open) })
}

// testCase is one sentence of the contract.
type testCase struct {
	name string
	run  func(f *fixture)
}

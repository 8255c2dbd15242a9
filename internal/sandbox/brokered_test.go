package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestBrokeredIsNotWritten: whoever prints, logs or encodes one by mistake does
// not give its value away.
func TestBrokeredIsNotWritten(t *testing.T) {
	const value = "sk-the-value"
	spec := Spec{Secrets: []Brokered{{Name: "KEY", Host: "api.test", Placeholder: "paddock-xxxxxxxxxxx", Value: value}}}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "one", spec.Secrets[0], "all", spec.Secrets)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "one", spec.Secrets[0], "all", spec.Secrets, "spec", spec)
	encoded, err := json.Marshal(spec)
	if err == nil {
		t.Error("it was encoded")
	}
	for _, text := range []string{
		fmt.Sprint(spec), fmt.Sprintf("%+v", spec), fmt.Sprintf("%#v", spec), fmt.Sprintf("%s %q", spec.Secrets[0], &spec.Secrets[0]),
		log.String(), string(encoded), fmt.Sprint(err),
	} {
		if strings.Contains(text, value) {
			t.Errorf("the value is in %q", text)
		}
	}
}

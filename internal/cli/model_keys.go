package cli

import (
	"slices"
	"strings"

	"paddock/internal/agents"
)

// takeKeys has the keys of the agent's models that lie in the caller's environment
// go along as secrets, with the servers that they are for, unless flags give one.
// The server knows which host each is for, and gives it to no other.
func (s *specFlags) takeKeys(a *app, secrets map[string]secret) {
	known, ok := agents.Find(s.spec.Agent)
	if !ok || !s.keys || s.file != "" {
		return
	}
	given := func(name string) bool {
		_, secret := secrets[name]
		return secret || slices.ContainsFunc(s.env, func(text string) bool { return strings.HasPrefix(text, name+"=") })
	}
	if slices.ContainsFunc(known.Keys, func(k agents.Key) bool { return given(k.Variable) }) {
		return
	}
	for _, k := range known.Keys {
		value := a.getenv(k.Variable)
		if value == "" {
			continue
		}
		secrets[k.Variable] = secret{Value: value}
		with := ""
		if base := a.getenv(k.BaseURL); k.BaseURL != "" && base != "" && !given(k.BaseURL) {
			s.env = append(s.env, k.BaseURL+"="+base)
			with = ", and " + k.BaseURL
		}
		a.note("%s of your environment goes along as a secret%s; --secret or --env would say otherwise", k.Variable, with)
	}
}

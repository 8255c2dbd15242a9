package engine

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"paddock/internal/environment"
)

// withGitHelpers are the session's variables, with those by which git, for the
// repositories of a spec, takes the brokered secrets for their hosts as passwords:
// git asks for one when the host wants it, and sends the placeholder.
func withGitHelpers(spec environment.Spec) map[string]string {
	env := spec.Variables()
	const count = "GIT_CONFIG_COUNT"
	if _, taken := env[count]; taken || len(spec.Repos) == 0 {
		return env
	}
	var places []string
	more := map[string]string{}
	for _, r := range spec.Repos {
		u, err := url.Parse(r.URL)
		if err != nil {
			continue
		}
		i := slices.IndexFunc(spec.Secrets, func(s environment.Secret) bool {
			return s.Host == u.Hostname() && (s.Header == "" || s.Header == "Authorization")
		})
		place := u.Scheme + "://" + u.Host
		if i < 0 || slices.Contains(places, place) {
			continue
		}
		n := strconv.Itoa(len(places))
		places = append(places, place)
		more["GIT_CONFIG_KEY_"+n] = "credential." + place + ".helper"
		more["GIT_CONFIG_VALUE_"+n] = fmt.Sprintf(`!f() { [ "$1" != get ] || printf 'username=x-access-token\npassword=%%s\n' "$%s"; }; f`, spec.Secrets[i].Name)
	}
	if len(places) == 0 {
		return env
	}
	all := maps.Clone(env)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	all[count] = strconv.Itoa(len(places))
	return all
}

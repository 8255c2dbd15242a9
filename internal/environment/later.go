package environment

import "strings"

// later says of keys that people will try, and that are not served yet, that
// they come. Naming them keeps anybody from believing that, say, a policy is
// enforced when it is not read.
var later = laterKeys()

func laterKeys() map[string]string {
	messages := map[string]string{}
	add := func(prefix, keys, message string) {
		for key := range strings.FieldsSeq(keys) {
			messages[prefix+key] = message
		}
	}
	add("", `sandbox policy mcp mcp_servers repo_hint
		setup checkpoint_runs triggers webhooks workspace workspace_id model models prompt
		system_prompt instructions runtime adapter openai region resources resume_on_topoff files ports volumes hooks
		idle_timeout_seconds budget credentials description labels version`, "is not supported yet")
	add("", "repo repository repositories", "is called repos, and is a list such as repos: [owner/name]")
	add("", "apiVersion kind metadata spec",
		"the form with apiVersion, kind, metadata and spec is not supported yet; write the keys at the top, such as agent: demo")
	add("permissions.", "tools egress", "is not supported yet; default, rules and filesystem are")
	add("permissions.", "enforcement", "belongs to a rule, as in rules: [{tool: bash, action: deny, enforcement: strict}]")
	return messages
}

package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSkills(t *testing.T) {
	got, warnings := parsed(t, `agent: claude-code
skills:
- name: greet
  content: |
    ---
    name: greet
    description: Greets.
    ---
    Say salve.
- {name: release, files: {SKILL.md: how, scripts/run.sh: "#!/bin/sh"}}
`)
	want := []Skill{
		{Name: "greet", Files: map[string]string{"SKILL.md": "---\nname: greet\ndescription: Greets.\n---\nSay salve.\n"}},
		{Name: "release", Files: map[string]string{"SKILL.md": "how", "scripts/run.sh": "#!/bin/sh"}},
	}
	if diff := cmp.Diff(want, got.Skills); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if !strings.Contains(warnings, "line 10: skills: SKILL.md of release does not begin with ---, name and description") {
		t.Errorf("warnings: %s", warnings)
	}
	if _, warnings := parsed(t, "agent: demo\nskills: [{name: a, content: \"---\\n\"}]"); warnings != "line 2: skills: has no effect: agent demo takes no skills" {
		t.Error(warnings)
	}
}

func TestFaultsOfSkills(t *testing.T) {
	for _, tc := range []struct{ skills, want string }{
		{`release`, "skills: wants a list such as [{name: release, content: 'how we release …'}]"},
		{`[{name: a}]`, "skills[0]: has neither content nor files; write content: … or files: {SKILL.md: …}"},
		{`[{content: a}]`, "skills[0].name: is missing; agents know the skill by it"},
		{`[{name: ../a, content: b}]`, `skills[0].name: "../a" is no name; it has a-z, 0-9, - and _, begins and ends with one of the former, and has at most 64 characters`},
		{`[{name: a, content: b, files: {SKILL.md: c}}]`, "skills[0].files: goes not with content, which is files: {SKILL.md: …}"},
		{`[{name: a, files: {x: y}}]`, "skills[0].files: has no SKILL.md, which agents read first"},
		{`[{name: a, files: {SKILL.md: b, ../x: y}}]`, `skills[0].files.../x: "../x" is no path of a file in the skill, such as scripts/run.sh`},
		{`[{name: a, content: b}, {name: a, content: c}]`, `skills: name "a" stands twice; each skill has its own`},
		{`[{name: a, content: ` + strings.Repeat("x", maxSkillBytes+1) + `}]`, "skills: have 524289 bytes together, at most 524288 are allowed"},
	} {
		if diff := cmp.Diff("line 2: "+tc.want, faulty(t, "agent: codex\nskills: "+tc.skills)); diff != "" {
			t.Errorf("%.80s (-want +got):\n%s", tc.skills, diff)
		}
	}
}

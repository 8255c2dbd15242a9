package environment

import (
	"path"
	"strings"

	"paddock/internal/agents"
)

// Skill is a folder of files, by their paths in it, from which an agent learns how
// something is done.
type Skill struct {
	Name  string            `json:"name" yaml:"name"`
	Files map[string]string `json:"files" yaml:"files"`
}

const (
	maxSkills     = 50
	maxSkillFiles = 100
	maxSkillBytes = 512 << 10 // of all of them

	skillFile    = "SKILL.md"
	skillExample = "{name: release, content: 'how we release …'}"
)

func (p *parser) skills(v value) {
	p.items(v, skillExample, maxSkills, func(v value) { p.spec.Skills = append(p.spec.Skills, p.skill(v)) })
}

func (p *parser) skill(v value) (s Skill) {
	var name, content, files *value
	p.fields(v, fields{
		"name":    func(_ *parser, v value) { name = &v; s.Name = p.listName(v) },
		"content": func(_ *parser, v value) { content = &v },
		"files":   func(_ *parser, v value) { files = &v },
	}, skillExample)
	if name == nil && content == nil && files == nil {
		return s // that was said
	}
	if name == nil {
		p.fault(v.node, v.path+".name", "is missing; agents know the skill by it")
	}
	switch {
	case content != nil && files != nil:
		p.fault(files.key, files.path, "goes not with content, which is files: {%s: …}", skillFile)
	case content != nil:
		text, _ := p.text(*content, "a text")
		s.Files = map[string]string{skillFile: text}
	case files != nil:
		s.Files = p.skillFiles(*files)
		if _, ok := s.Files[skillFile]; !ok {
			p.fault(files.key, files.path, "has no %s, which agents read first", skillFile)
		}
	default:
		p.fault(v.node, v.path, "has neither content nor files; write content: … or files: {%s: …}", skillFile)
	}
	return s
}

func (p *parser) skillFiles(v value) map[string]string {
	files := map[string]string{}
	p.mapping(v, skillFile+": …", func(v value) {
		name := v.key.Value
		text, ok := p.text(v, "a text")
		switch {
		case name == "" || len(name) > 255 || name != path.Clean(name) || path.IsAbs(name) || name == "." || name == ".." || strings.HasPrefix(name, "../"):
			p.fault(v.key, v.path, "%q is no path of a file in the skill, such as scripts/run.sh", clip(name))
		case ok:
			files[name] = text
		}
	})
	if n := len(files); n > maxSkillFiles {
		p.fault(v.place(), v.path, "has %d files, at most %d are allowed", n, maxSkillFiles)
	}
	return files
}

// checkSkills checks what no skill says alone, and warns where nobody would read
// them.
func (p *parser) checkSkills() {
	list, set := p.at["skills"]
	if !set || len(p.spec.Skills) != len(list.node.Content) {
		return
	}
	first, bytes := map[string]bool{}, 0
	for i, s := range p.spec.Skills {
		at := list.node.Content[i]
		if s.Name != "" && first[s.Name] {
			p.fault(at, list.path, "name %q stands twice; each skill has its own", clip(s.Name))
		}
		first[s.Name] = true
		for _, text := range s.Files {
			bytes += len(text)
		}
		if text, ok := s.Files[skillFile]; ok && !strings.HasPrefix(text, "---\n") {
			p.note(at.Line, list.path, "%s of %s does not begin with ---, name and description, by which agents tell when to read it", skillFile, clip(s.Name))
		}
	}
	if bytes > maxSkillBytes {
		p.fault(list.key, list.path, "have %d bytes together, at most %d are allowed", bytes, maxSkillBytes)
	}
	a, _ := agents.Find(p.spec.Agent)
	p.warn("skills", a.Skills.Folder == "" && len(p.spec.Skills) > 0, "has no effect: agent "+clip(p.spec.Agent)+" takes no skills")
}

package fakemodel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// tool is one that the agent offers.
type tool struct {
	name   string
	schema object // JSON schema of its input
	custom bool   // its input is a text, not an object (OpenAI Responses)
	space  string // its namespace (OpenAI Responses)
}

// call asks the agent to call a tool.
type call struct {
	tool  tool
	input object
	text  string // of a custom tool
}

// The names by which known agents offer a tool, by what it does.
var toolNames = map[string][]string{
	"RUN":     {"bash", "Bash", "exec_command", "shell_command", "shell", "local_shell", "run_shell_command", "developer__shell", "terminal", "execute", "exec"},
	"WRITE":   {"write", "Write", "write_file", "create", "create_file", "apply_patch", "exec"},
	"READ":    {"read", "Read", "read_file", "view"},
	"ASKUSER": {"AskUserQuestion", "question", "ask_user", "request_user_input"},
}

// use makes the call of a word; nil when the agent has no tool for it.
func (r *request) use(word, argument string) *call {
	switch word {
	case "MCP":
		return r.useNamed(argument)
	case "CALL":
		return r.useExactly(argument)
	}
	escalated := word == "RUNESC"
	if escalated {
		word = "RUN"
	}
	t := r.tool(toolNames[word])
	if t == nil {
		return nil
	}
	input := inputFor(word, argument)
	if escalated {
		input["sandbox_permissions"], input["justification"] = "require_escalated", justification
	}
	return &call{tool: *t, input: t.fit(input), text: t.program(word, argument, escalated)}
}

const justification = "May I run this outside the sandbox?"

// useNamed calls the first tool with a part in its name. Where tools are called
// by a program, that program looks for it.
func (r *request) useNamed(part string) *call {
	for _, t := range r.tools {
		if strings.Contains(t.name, part) {
			return &call{tool: t, input: object{"text": "ping"}}
		}
	}
	if t := r.tool([]string{"exec"}); t != nil && t.custom {
		return &call{tool: *t, text: fmt.Sprintf(
			"const name = Object.keys(tools).concat(ALL_TOOLS.map(t => t.name)).find(n => n.includes(%q)); text(await tools[name]({text: 'ping'}));", part)}
	}
	return nil
}

// useExactly calls a tool with an input that is written out.
func (r *request) useExactly(argument string) *call {
	name, text, _ := strings.Cut(argument, " ")
	var input object
	if json.Unmarshal([]byte(text), &input) != nil {
		return nil
	}
	if t := r.tool([]string{name}); t != nil {
		return &call{tool: *t, input: input}
	}
	if t := r.tool([]string{"exec"}); t != nil && t.custom {
		return &call{tool: *t, text: fmt.Sprintf("text(await tools[%q](%s));", name, text)}
	}
	return nil
}

func (r *request) tool(names []string) *tool {
	for _, name := range names {
		if i := slices.IndexFunc(r.tools, func(t tool) bool { return t.name == name }); i >= 0 {
			return &r.tools[i]
		}
	}
	return nil
}

func (r *request) toolNames() (names []string) {
	for _, t := range r.tools {
		names = append(names, t.name)
	}
	return names
}

// inputFor gives the tool's input under every name that an agent may have for
// it.
func inputFor(word, argument string) object {
	switch word {
	case "RUN":
		return object{"command": argument, "cmd": argument, "description": "Run the scripted command", "sessionId": "scripted", "mode": "sync"}
	case "WRITE":
		path, text, _ := strings.Cut(argument, " ")
		patch := patchFor(path, text)
		text += "\n"
		return object{"path": path, "file_path": path, "filePath": path, "content": text, "file_text": text, "input": patch, "patchText": patch}
	case "ASKUSER":
		colours := []object{{"label": "Red", "description": "the red one"}, {"label": "Blue", "description": "the blue one"}}
		return object{"questions": []object{{
			"question": "Which colour?", "header": "Colour", "id": "colour", "type": "choice", "multiSelect": false, "options": colours,
		}}}
	default:
		return object{"path": argument, "file_path": argument, "filePath": argument}
	}
}

// writing is a shell command that writes a file of one line.
func writing(argument string) string {
	path, line, _ := strings.Cut(argument, " ")
	return fmt.Sprintf("echo '%s' > %s", line, path)
}

// patchFor is a patch in codex's form that adds a file of one line.
func patchFor(path, line string) string {
	return "*** Begin Patch\n*** Add File: " + path + "\n+" + line + "\n*** End Patch\n"
}

// program is the text for a custom tool: a patch for apply_patch, JavaScript for
// exec, which has the other tools.
func (t tool) program(word, argument string, escalated bool) string {
	path, line, _ := strings.Cut(argument, " ")
	switch {
	case !t.custom:
		return ""
	case word == "WRITE" && t.name != "exec":
		return patchFor(path, line)
	case word == "WRITE":
		return fmt.Sprintf("text(await tools.apply_patch(%q));", patchFor(path, line))
	}
	more := ""
	if escalated {
		more = fmt.Sprintf(", sandbox_permissions: %q, justification: %q", "require_escalated", justification)
	}
	return fmt.Sprintf("text(await tools.exec_command({cmd: %q%s}));", argument, more)
}

// fit keeps what the tool's schema knows, and puts a command into a list where
// it wants one.
func (t tool) fit(input object) object {
	properties, ok := t.schema["properties"].(object)
	if !ok {
		return input
	}
	out := object{}
	for name, value := range input {
		p, known := properties[name].(object)
		if !known {
			continue
		}
		if text, isText := value.(string); isText && p["type"] == "array" {
			value = []string{"bash", "-c", text}
		}
		out[name] = value
	}
	return out
}

package acp

import "encoding/json"

// The parts of ACP v1 that we use. Fields that we do not read are left out;
// everything stays in the raw frame.

const protocolVersion = 1

type initializeParams struct {
	ProtocolVersion int                `json:"protocolVersion"`
	Capabilities    clientCapabilities `json:"clientCapabilities"`
	Info            clientInfo         `json:"clientInfo"`
}

type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal    bool `json:"terminal"`
	Elicitation struct {
		Form struct{} `json:"form"`
	} `json:"elicitation"`
}

type clientInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

type initializeResult struct {
	ProtocolVersion int `json:"protocolVersion"`
	Capabilities    struct {
		LoadSession bool `json:"loadSession"`
		MCP         struct {
			HTTP bool `json:"http"`
		} `json:"mcpCapabilities"`
		Session struct {
			Resume *struct{} `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	AuthMethods []authMethod `json:"authMethods"`
	Info        struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
}

type authMethod struct {
	ID string `json:"id"`
}

type authenticateParams struct {
	MethodID string `json:"methodId"`
}

// sessionParams opens a session: a new one, or SessionID again.
type sessionParams struct {
	SessionID  string      `json:"sessionId,omitempty"`
	Cwd        string      `json:"cwd"`
	MCPServers []mcpServer `json:"mcpServers"`
}

// mcpServer is a server that the agent starts, or one of Type http that it calls.
// ACP wants the lists of its kind even when they are empty.
type mcpServer struct {
	Type    string    `json:"type,omitempty"`
	Name    string    `json:"name"`
	Command string    `json:"command,omitempty"`
	Args    *[]string `json:"args,omitempty"`
	Env     *[]pair   `json:"env,omitempty"`
	URL     string    `json:"url,omitempty"`
	Headers *[]pair   `json:"headers,omitempty"`
}

// pair is a variable or a header.
type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type sessionResult struct {
	SessionID string `json:"sessionId"` // of a new one
	Modes     struct {
		Current string `json:"currentModeId"`
	} `json:"modes"`
}

type modeParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

type promptParams struct {
	SessionID string    `json:"sessionId"`
	Prompt    []content `json:"prompt"`
}

type promptResult struct {
	StopReason string          `json:"stopReason"`
	Usage      *usage          `json:"usage"`
	Meta       json.RawMessage `json:"_meta"`
}

// usage counts the tokens of a turn.
type usage struct {
	Input       int64 `json:"inputTokens"`
	Output      int64 `json:"outputTokens"`
	CachedRead  int64 `json:"cachedReadTokens"`
	CachedWrite int64 `json:"cachedWriteTokens"`
	Thought     int64 `json:"thoughtTokens"`
}

type cancelParams struct {
	SessionID string `json:"sessionId"`
}

type updateParams struct {
	SessionID string `json:"sessionId"`
	Update    update `json:"update"`
}

// update is any session/update; which fields are set depends on its kind. A
// tool call in a permission request has the same form.
type update struct {
	Kind       string          `json:"sessionUpdate"`
	Content    json.RawMessage `json:"content"` // of a chunk: a content block; of a tool call: a list
	ToolCallID string          `json:"toolCallId"`
	Name       string          `json:"name"`
	Title      string          `json:"title"`
	ToolKind   string          `json:"kind"`
	Status     string          `json:"status"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
	Locations  []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Used int64 `json:"used"` // usage_update: tokens in the context
	Cost *struct {
		Amount   float64 `json:"amount"` // of the session so far
		Currency string  `json:"currency"`
	} `json:"cost"`
	Meta json.RawMessage `json:"_meta"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// toolContent is one entry of a tool call's content.
type toolContent struct {
	Type    string  `json:"type"` // content, diff, terminal
	Content content `json:"content"`
	Path    string  `json:"path"`
}

type permissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  update             `json:"toolCall"`
	Options   []permissionOption `json:"options"`
	Meta      ourMeta            `json:"_meta"`
}

// ourMeta is what ACP has no word for: an agent says with its request that it
// takes another input, and is given that with the permission, or with a no why.
type ourMeta struct {
	Paddock struct {
		Editable     bool            `json:"editable,omitempty"`
		UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
		Reason       string          `json:"reason,omitempty"`
	} `json:"paddock"`
}

type permissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"` // allow_once, allow_always, reject_once, reject_always
}

type permissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"` // selected, cancelled
		OptionID string `json:"optionId,omitempty"`
	} `json:"outcome"`
	Meta *ourMeta `json:"_meta,omitempty"`
}

type elicitationParams struct {
	SessionID string          `json:"sessionId"`
	Mode      string          `json:"mode"` // form, url
	Message   string          `json:"message"`
	Schema    json.RawMessage `json:"requestedSchema"`
}

type elicitationResult struct {
	Action  string         `json:"action"` // accept, decline, cancel
	Content map[string]any `json:"content,omitempty"`
}

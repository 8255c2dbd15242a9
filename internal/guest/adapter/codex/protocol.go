package codex

import (
	"encoding/json"

	"paddock/internal/guest/adapter/form"
)

// The parts of the app-server's protocol that we use. Fields that we do not read
// are left out; everything stays in the raw frame.

type initializeParams struct {
	ClientInfo struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"clientInfo"`
	Capabilities struct {
		ExperimentalAPI bool `json:"experimentalApi"` // questions to the user are of it
	} `json:"capabilities"`
}

type hooksParams struct {
	Cwds []string `json:"cwds"`
}

type hooksResult struct {
	Data []struct {
		Hooks []struct {
			Event   string `json:"eventName"`
			Command string `json:"command"`
			Enabled bool   `json:"enabled"`
			Managed bool   `json:"isManaged"`
		} `json:"hooks"`
	} `json:"data"`
}

// threadParams opens a conversation: a new one, or ThreadID again.
type threadParams struct {
	ThreadID          string `json:"threadId,omitempty"`
	Cwd               string `json:"cwd"`
	ApprovalPolicy    string `json:"approvalPolicy"`
	ApprovalsReviewer string `json:"approvalsReviewer"`
	ExcludeTurns      bool   `json:"excludeTurns,omitempty"`
}

type threadResult struct {
	Thread struct {
		ID string `json:"id"`
	} `json:"thread"`
	Model string `json:"model"`
}

type turnParams struct {
	ThreadID string        `json:"threadId"`
	Input    []inputItem   `json:"input"`
	Sandbox  sandboxPolicy `json:"sandboxPolicy"`
}

type inputItem struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// sandboxPolicy tells Codex that it is in a sandbox already.
type sandboxPolicy struct {
	Type          string `json:"type"`
	NetworkAccess string `json:"networkAccess"`
}

type turnResult struct {
	Turn codexTurn `json:"turn"`
}

type codexTurn struct {
	ID     string     `json:"id"`
	Status string     `json:"status"` // completed, interrupted, failed, inProgress
	Error  *turnError `json:"error"`
}

type turnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"` // a word, or an object of one
	Details string          `json:"additionalDetails"`
}

type interruptParams struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

// notice is any notification about a turn; which fields are set depends on its
// method.
type notice struct {
	ThreadID     string     `json:"threadId"`
	TurnID       string     `json:"turnId"`
	ItemID       string     `json:"itemId"`
	Delta        string     `json:"delta"`
	SummaryIndex int        `json:"summaryIndex"`
	Item         item       `json:"item"`
	Turn         codexTurn  `json:"turn"`
	Error        *turnError `json:"error"`
	WillRetry    bool       `json:"willRetry"`
	TokenUsage   struct {
		Total tokenCount `json:"total"` // of the conversation
		Last  tokenCount `json:"last"`  // of the last request to the model
	} `json:"tokenUsage"`
	Message string `json:"message"`
	Summary string `json:"summary"`
}

type tokenCount struct {
	Input     int64 `json:"inputTokens"`
	Cached    int64 `json:"cachedInputTokens"`
	Output    int64 `json:"outputTokens"`
	Reasoning int64 `json:"reasoningOutputTokens"`
}

// item is one step of a turn.
type item struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"` // inProgress, completed, failed, declined
	Text      string          `json:"text"`
	Command   string          `json:"command"`
	Cwd       string          `json:"cwd"`
	Output    string          `json:"aggregatedOutput"`
	ExitCode  *int            `json:"exitCode"`
	Changes   []fileChange    `json:"changes"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"` // of a tool of an MCP server
	Failure   json.RawMessage `json:"error"`
}

// toolResult is what a tool of an MCP server gave.
type toolResult struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}

type fileChange struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"` // add, delete, update
	} `json:"kind"`
	Diff string `json:"diff"`
}

// approvalParams is a question whether a call may go on.
type approvalParams struct {
	ThreadID string `json:"threadId"`
	ItemID   string `json:"itemId"`
}

type approvalResult struct {
	Decision string `json:"decision"` // accept, decline, cancel
}

// elicitationParams is a question of an MCP server, or Codex's own about a call
// of one.
type elicitationParams struct {
	ThreadID string          `json:"threadId"`
	Server   string          `json:"serverName"`
	Mode     string          `json:"mode"`
	Message  string          `json:"message"`
	Schema   json.RawMessage `json:"requestedSchema"`
	Meta     struct {
		Kind   string          `json:"codex_approval_kind"` // mcp_tool_call
		Tool   string          `json:"tool_name"`
		Params json.RawMessage `json:"tool_params"`
	} `json:"_meta"`
}

type elicitationResult struct {
	Action  string         `json:"action"` // accept, decline, cancel
	Content map[string]any `json:"content"`
}

// inputParams asks the user.
type inputParams struct {
	ThreadID  string         `json:"threadId"`
	ItemID    string         `json:"itemId"`
	Questions form.Questions `json:"questions"`
}

type inputResult struct {
	Answers map[string]inputAnswer `json:"answers"`
}

type inputAnswer struct {
	Answers []string `json:"answers"`
}

package server

// route is one call that is served.
type route struct {
	method, path string   // below the prefix
	query        []string // known query parameters
	handle       handler
}

// eventQuery are the parameters of a whole history.
var eventQuery = []string{"cursor", "replay_only", "replay_from", "before", "limit", "types", "include_raw", "device_id", "after", "wait"}

// listQuery are the parameters of a list of sessions.
var listQuery = []string{"status", "name", "parent_session_id", "search", "page_size", "page_token"}

// served is all that the API serves. Its twin is api/openapi.yaml.
var served = []route{
	{"POST", "/sessions", []string{"resume_on_topoff", "openai_session_id"}, (*edge).createSession},
	{"GET", "/sessions", listQuery, (*edge).listSessions},
	{"GET", "/sessions/{session}", nil, (*edge).getSession},
	{"PATCH", "/sessions/{session}", nil, (*edge).updateSession},
	{"DELETE", "/sessions/{session}", nil, (*edge).removeSession},
	{"POST", "/sessions/{session}/pause", nil, (*edge).pauseSession},
	{"POST", "/sessions/{session}/resume", nil, (*edge).resumeSession},

	{"POST", "/sessions/{session}/input", nil, (*edge).sendInput},
	{"POST", "/sessions/{session}/cancel", nil, (*edge).cancelRun},
	{"POST", "/sessions/{session}/hitl/{approval}", nil, (*edge).answerApproval},
	{"GET", "/sessions/{session}/approvals", []string{"state"}, (*edge).listApprovals},
	{"GET", "/sessions/{session}/grants", nil, (*edge).listGrants},
	{"DELETE", "/sessions/{session}/grants/{grant}", nil, (*edge).revokeGrant},
	{"GET", "/approvals", []string{"state", "page_size", "page_token"}, (*edge).listTeamApprovals},
	{"GET", "/sessions/{session}/runs", []string{"page_size", "page_token"}, (*edge).listRuns},
	{"GET", "/sessions/{session}/runs/{run}", nil, (*edge).getRun},

	{"GET", "/sessions/{session}/events", eventQuery, (*edge).streamEvents},
	{"GET", "/sessions/{session}/runs/{run}/events", []string{"cursor", "types", "include_raw"}, (*edge).streamRunEvents},
	{"GET", "/events", eventQuery, (*edge).streamTeamEvents},

	{"POST", "/sessions/{session}/sandbox/exec", nil, (*edge).exec},
	{"GET", "/sessions/{session}/files", []string{"path"}, (*edge).listFiles},
	{"GET", "/sessions/{session}/files/content", []string{"path"}, (*edge).readFile},
	{"GET", "/sessions/{session}/diff", []string{"patch"}, (*edge).diffSession},

	{"GET", "/sessions/sandbox/stats", []string{"page_size", "page_token"}, (*edge).listSandboxStats},
	{"POST", "/sessions/policy/validate", nil, (*edge).validatePolicy},
	{"GET", "/sessions/sandbox/sizes", nil, (*edge).listSizes},
	{"GET", "/configs", []string{"page_size", "page_token"}, (*edge).listEnvironments},
	{"POST", "/configs", nil, (*edge).createEnvironment},
	{"GET", "/configs/{environment}", nil, (*edge).getEnvironment},
	{"DELETE", "/configs/{environment}", nil, (*edge).removeEnvironment},
	{"GET", "/configs/{environment}/sessions", listQuery, (*edge).listEnvironmentSessions},
	{"GET", "/agents", nil, (*edge).listAgents},
	{"DELETE", "/agents/{agent}/versions/{version}", nil, (*edge).removeAgent},
	{"GET", "/templates", []string{"page_size", "page_token"}, (*edge).listTemplates},
	{"POST", "/templates", nil, (*edge).createTemplate},
	{"GET", "/templates/{template}", nil, (*edge).getTemplate},
	{"PUT", "/templates/{template}", nil, (*edge).updateTemplate},
	{"DELETE", "/templates/{template}", nil, (*edge).removeTemplate},
	{"PUT", "/templates/{template}/image", nil, (*edge).importTemplate},
	{"GET", "/regions", nil, (*edge).listRegions},
}

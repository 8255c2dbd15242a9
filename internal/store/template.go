package store

import (
	"time"

	"paddock/internal/id"
)

// Template is what is stored of a root file system that was made of an image.
type Template struct {
	ID   id.Template
	Team id.Team
	// Name is unique within the team: in the form of a session's name, or, where a
	// spec named an image of a registry, that reference in full.
	Name   string
	Source string // the reference it was asked for by; empty: somebody sent it
	Base   string // what public clients say with it; it means nothing here
	State  TemplateState
	Digest string // of the image that sessions get now; empty before there is one
	Reason string // why the last build failed, one sentence

	CreatedBy string // name of the token that made it
	CreatedAt time.Time
	UpdatedAt time.Time // when its state changed last
}

// TemplateState is how far a template's image is.
type TemplateState string

// The states of a template. One that is being built, or failed to be, may have
// the image of an earlier build.
const (
	// TemplateBuilding: its image is being fetched and unpacked. It comes from the
	// beginning, from ready and from failed, when somebody asks for it anew.
	TemplateBuilding TemplateState = "building"
	// TemplateReady: its image is there.
	TemplateReady TemplateState = "ready"
	// TemplateFailed: the image could not be had; Reason says why.
	TemplateFailed TemplateState = "failed"
)

// TemplateStates are all of them.
var TemplateStates = []TemplateState{TemplateBuilding, TemplateReady, TemplateFailed}

// TemplateFilter chooses templates; zero fields choose all.
type TemplateFilter struct {
	Team   id.Team
	Name   string // exact
	States []TemplateState
	Before id.Template // only those made before this one (ids sort by time)
	Limit  int         // 0: no limit
}

package embedded

import "embed"

// files holds what `make generate` built; .gitkeep lets the package compile
// before that, so that the message of program can be read.
//
//go:embed all:bin/linux_arm64
var files embed.FS

const folder = "bin/linux_arm64"

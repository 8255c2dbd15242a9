package gvisor

import (
	"testing"

	"paddock/internal/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) { sandboxtest.Run(t, harness(t)) }

package session

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"paddock/internal/id"
)

// MaxName is the longest name, in characters.
const MaxName = 64

var namePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// CheckName says in one sentence what is wrong with a name; nil when nothing is.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > MaxName:
		return fmt.Errorf("has %d characters, at most %d are allowed", len(name), MaxName)
	case !namePattern.MatchString(name):
		return fmt.Errorf("%q will not do: a name may hold letters, digits, '.', '_' and '-', and begins and ends with a letter or digit", name)
	case id.LooksLike[id.Session](name):
		return fmt.Errorf("%q looks like a session id; choose one that does not begin with sess_", name)
	}
	return nil
}

// NameKey is the form in which names are compared.
func NameKey(name string) string { return strings.ToLower(name) }

var (
	moods   = strings.Fields("amber bold brave brisk calm clear clever cosy crisp deft eager early fair fleet fond free fresh gentle glad golden grand green happy hardy honest jolly keen kind light lively lucky mellow merry mild neat nimble noble polite proud quick quiet rapid ready ruby sharp shy silver smart snug sound spry steady still sunny swift tidy true vivid warm wise witty")
	animals = strings.Fields("badger bear beaver bison crane deer dove eagle egret elk falcon ferret finch fox gecko goose hare hawk heron horse ibex jay koala lark lemur linnet lion llama lynx marten mink mole moose newt okapi orca osprey otter owl panda pony puffin quail raven robin seal shrew sloth snipe stoat stork swan swift tapir tern toad trout vole walrus wolf wren yak zebra")
)

// GenerateName makes a name such as demo-quiet-otter for a session of adapter.
func GenerateName(adapter string) string {
	return adapter + "-" + moods[rand.IntN(len(moods))] + "-" + animals[rand.IntN(len(animals))]
}

package demoagent

import (
	"fmt"
	"strings"
)

func (v *voice) run(command string) error {
	if command == "" {
		return v.say("run needs a command, as in: run ls -la")
	}
	c := v.shellCall(command)
	if allowed, err := c.permitted(); err != nil || !allowed {
		return err
	}
	return v.execute(c)
}

// together asks for several commands at once and, once all are decided, runs
// those that were allowed, one after the other.
func (v *voice) together(commands string) error {
	type decision struct {
		call    *call
		allowed bool
		err     error
	}
	var waiting []chan decision
	for command := range strings.SplitSeq(commands, " ; ") {
		c, decided := v.shellCall(strings.TrimSpace(command)), make(chan decision, 1)
		waiting = append(waiting, decided)
		v.agent.work.Go(func() {
			allowed, err := c.request()
			decided <- decision{c, allowed, err}
		})
	}
	var first error
	for _, decided := range waiting {
		d := <-decided
		switch {
		case first != nil:
		case d.err != nil:
			first = d.err
		case d.allowed:
			first = v.execute(d.call)
		default:
			first = v.say("permission denied: I did not " + d.call.verb() + "\n")
		}
	}
	return first
}

func (v *voice) shellCall(command string) *call {
	return v.call("execute", "shell", command, object{"command": command, "cwd": v.session.cwd}, nil)
}

// execute runs a command that was allowed, as its input has it now.
func (v *voice) execute(c *call) error {
	r, err := v.agent.runShell(v.ctx, v.session.cwd, c.text("command"), c.output)
	if err != nil {
		c.end("failed", err.Error(), nil)
		return v.say("the command could not be started: " + err.Error())
	}
	status := "completed"
	if r.code != 0 {
		status = "failed"
	}
	c.end(status, r.output, object{"exitCode": r.code, "output": r.output})
	if err := v.ctx.Err(); err != nil {
		return err
	}
	more := ""
	if r.detached {
		more = " (something it started goes on in the background)"
	}
	return v.say(fmt.Sprintf("exit code %d%s\n%s", r.code, more, r.output))
}

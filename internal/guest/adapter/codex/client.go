package codex

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Hook is the mode of the guest's program that Codex runs before every call: it
// asks the adapter what becomes of it. An error has to end the program with a
// failure.
func Hook(in io.Reader, out io.Writer) error {
	raw, err := io.ReadAll(io.LimitReader(in, maxAsked))
	if err != nil {
		return fmt.Errorf("read the call: %w", err)
	}
	var asked gateAsk
	if err := json.Unmarshal(raw, &asked.Hook); err != nil {
		return fmt.Errorf("read the call: %w", err)
	}
	answer, err := inquire(socket, asked, (hookTimeout-10)*time.Second)
	switch {
	case err != nil:
		return err
	case answer.Pass:
		return nil
	case answer.Hook == nil:
		return errors.New("the policy did not answer")
	}
	return json.NewEncoder(out).Encode(answer.Hook)
}

// Gate is the mode of the guest's program that a command becomes which a person
// decides on. It returns only when the command is not run.
func Gate(id string) error {
	answer, err := inquire(socket, gateAsk{Gate: id}, 0)
	switch {
	case err != nil:
		return err
	case answer.Refused != "" || answer.Run == "":
		return errors.New("the command was not run: " + cmp.Or(answer.Refused, "nobody allowed it"))
	}
	shell := os.Getenv("SHELL")
	if path, err := exec.LookPath(shell); err != nil || path == "" {
		shell = "/bin/sh"
	}
	if err := syscall.Exec(shell, []string{shell, "-c", answer.Run}, os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", shell, err)
	}
	return nil
}

// inquire asks the adapter one thing; patience 0 waits for as long as it takes.
func inquire(socket string, asked gateAsk, patience time.Duration) (gateAnswer, error) {
	var answer gateAnswer
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return answer, fmt.Errorf("the policy cannot be asked: %w", err)
	}
	defer conn.Close()
	if patience > 0 {
		_ = conn.SetDeadline(time.Now().Add(patience)) // a connection has deadlines
	}
	if err := json.NewEncoder(conn).Encode(asked); err != nil {
		return answer, fmt.Errorf("the policy cannot be asked: %w", err)
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("the policy did not answer: %w", err)
	}
	return answer, nil
}

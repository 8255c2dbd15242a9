package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"paddock/internal/event"
	"paddock/internal/guest/proc"
	"paddock/internal/guestapi"
)

// putSkills writes the agent's skills where it looks for them, as its user's own.
// An agent without one of them still works, so what cannot be written is told, and
// no more. Locked.
func (d *Daemon) putSkills(agent guestapi.Agent) {
	user := d.options.Agent
	if agent.Root {
		user = d.options.Root
	}
	for _, s := range agent.Skills {
		if err := putSkill(agent.SkillsDir, s, user); err != nil {
			message := fmt.Sprintf("skill %s was not given to the agent: %v", s.Name, err)
			d.work.Go(func() { // the host takes entries once it has configured us
				d.noTurnLog(event.Log{Level: "warn", Message: message, Fields: map[string]any{"reason": "skill_not_given", "skill": s.Name}}, Source{})
			})
		}
	}
}

// putSkill writes one skill. The folder may be the agent's by now, as in a machine
// with saved files: so no link of its leads anywhere else.
func putSkill(dir string, s guestapi.Skill, user proc.User) error {
	where, err := proc.Where(path.Join(dir, s.Name), user)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(where)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	defer root.Close()
	uid, gid := int(user.UID), int(user.GID)
	for name, text := range s.Files {
		for i, c := range name {
			if c != '/' {
				continue
			}
			if err := root.Mkdir(name[:i], 0o755); err == nil {
				err = root.Lchown(name[:i], uid, gid)
				if err != nil {
					return fmt.Errorf("make folder: %w", err)
				}
			} else if !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("make folder: %w", err)
			}
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replace file: %w", err)
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		file, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return fmt.Errorf("make file: %w", err)
		}
		_, err = file.WriteString(text)
		if err = errors.Join(err, file.Chown(uid, gid), file.Close()); err != nil {
			return fmt.Errorf("write file: %w", err)
		}
	}
	return nil
}

package storetest

import (
	"slices"
	"time"

	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

func (f *fixture) template(name string, state store.TemplateState, digest string) store.Template {
	return store.Template{
		ID: id.New[id.Template](), Team: f.team, Name: name, Source: "registry/" + name, Base: "base", State: state, Digest: digest,
		Reason: "why", CreatedBy: "laptop", CreatedAt: start, UpdatedAt: start.Add(time.Second),
	}
}

var templateCases = []testCase{
	{"templates come back, are stored over and forgotten", func(f *fixture) {
		t := f.template("a", store.TemplateBuilding, "")
		_, err := f.store.Template(f.ctx, t.ID)
		f.fails(err, store.ErrNotFound)
		for _, t.State = range store.TemplateStates {
			t.Digest, t.Reason, t.UpdatedAt = "sha256:1", string(t.State), start.Add(time.Hour)
			f.update(func(tx store.Tx) error { return tx.SaveTemplate(t) })
			found, err := f.store.Template(f.ctx, t.ID)
			f.ok(err)
			same(f, found, t)
		}
		for range 2 { // forgetting what is absent is no error
			f.update(func(tx store.Tx) error { return tx.DeleteTemplate(t.ID) })
			_, err = f.store.Template(f.ctx, t.ID)
			f.fails(err, store.ErrNotFound)
		}
	}},
	{"a team has one template of each name, and none is ready without an image", func(f *fixture) {
		f.update(func(tx store.Tx) error { return tx.SaveTemplate(f.template("a", store.TemplateReady, "d")) })
		theirs := f.template("a", store.TemplateReady, "d")
		theirs.Team = f.newTeam("other")
		f.update(func(tx store.Tx) error { return tx.SaveTemplate(theirs) })
		for _, bad := range []store.Template{f.template("a", store.TemplateReady, "d"), f.template("b", store.TemplateReady, ""), f.template("c", "lost", "d")} {
			if err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.SaveTemplate(bad) }); err == nil {
				f.Errorf("saved %+v", bad)
			}
		}
	}},
	{"templates are listed, newest first", func(f *fixture) {
		first, second := f.template("a", store.TemplateReady, "1"), f.template("b", store.TemplateBuilding, "")
		theirs := f.template("c", store.TemplateFailed, "")
		theirs.Team = f.newTeam("other")
		f.update(func(tx store.Tx) error {
			for _, t := range []store.Template{first, second, theirs} {
				f.ok(tx.SaveTemplate(t))
			}
			return nil
		})
		for _, c := range []struct {
			filter store.TemplateFilter
			want   []store.Template
		}{
			{store.TemplateFilter{}, []store.Template{theirs, second, first}},
			{store.TemplateFilter{Team: f.team}, []store.Template{second, first}},
			{store.TemplateFilter{Team: f.team, Name: "a"}, []store.Template{first}},
			{store.TemplateFilter{Team: f.team, Name: "A"}, []store.Template{}},
			{store.TemplateFilter{States: []store.TemplateState{store.TemplateBuilding}}, []store.Template{second}},
			{store.TemplateFilter{Team: f.team, Before: second.ID}, []store.Template{first}},
			{store.TemplateFilter{Limit: 1}, []store.Template{theirs}},
		} {
			list, err := f.store.Templates(f.ctx, c.filter)
			f.ok(err)
			same(f, list, c.want)
		}
	}},
	{"images are in use by templates, sessions that are not over and machines", func(f *fixture) {
		f.update(func(tx store.Tx) error {
			f.ok(tx.SaveTemplate(f.template("a", store.TemplateReady, "template")))
			f.ok(tx.SaveTemplate(f.template("b", store.TemplateReady, "template")))
			return tx.SaveTemplate(f.template("c", store.TemplateBuilding, ""))
		})
		for image, state := range map[string]session.State{"paused": session.Paused, "ready": session.Ready, "": session.Ready,
			"failed": session.Failed, "destroyed": session.Destroyed, "dying": session.Destroying, "failed, not gone": session.Failed} {
			s := f.session("s" + string(state) + image[:min(len(image), 2)])
			s.Image, s.State = image, state
			if image == "failed, not gone" {
				s.Name = "other"
			}
			f.update(func(tx store.Tx) error {
				f.ok(tx.CreateSession(s, 0))
				if image != "failed, not gone" {
					return nil
				}
				return tx.SaveMachine(store.Machine{Session: s.ID, Sandbox: id.New[id.Sandbox](), CreatedAt: start})
			})
		}
		list, err := f.store.ImagesInUse(f.ctx)
		f.ok(err)
		slices.Sort(list)
		same(f, list, []string{"dying", "failed, not gone", "paused", "ready", "template"})
	}},
	{"sessions are found by their template", func(f *fixture) {
		a, b := f.created("a"), f.created("b")
		list, err := f.store.Sessions(f.ctx, store.SessionFilter{Team: f.team, Template: a.Template})
		f.ok(err)
		same(f, len(list), 1)
		same(f, list[0].ID, a.ID)
		same(f, a.Template == b.Template, false)
	}},
}

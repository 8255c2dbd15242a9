package storetest

import (
	"encoding/json"
	"strings"
	"time"

	"paddock/internal/approval"
	"paddock/internal/event"
	"paddock/internal/id"
	"paddock/internal/session"
	"paddock/internal/store"
)

// hostile is text that a store must give back as it was.
const hostile = "a\x00b \xff\xfe '\";-- 😀 \u2028 $1 %_\\ \r\n"

var runCases = []testCase{
	{"every field comes back, and saving again stores over it", func(f *fixture) {
		s := f.created("a")
		r := f.run(s.ID, hostile)
		f.update(func(tx store.Tx) error { return tx.SaveRun(r) })
		same(f, f.runOf(s.ID, r.ID), r)

		r.State, r.StartedAt, r.EndedAt, r.Deadline = session.RunFailed, start.Add(1*time.Second), start.Add(2*time.Second), start.Add(time.Hour)
		r.SourceRaw, r.TokensIn, r.TokensOut, r.CostMicros, r.StopReason = []byte{0, 1, 255}, 1<<40, 2, 3, "end_turn"
		r.Failure = &session.Failure{Code: event.SandboxLost, Message: "gone", Terminal: true}
		r.CancelAt, r.CancelledBy, r.AwaitingSince = start.Add(3*time.Second), hostile, start.Add(4*time.Second)
		r.Trace = hostile
		f.update(func(tx store.Tx) error { return tx.SaveRun(r) })
		same(f, f.runOf(s.ID, r.ID), r)

		r.Failure = nil
		f.update(func(tx store.Tx) error { return tx.SaveRun(r) })
		same(f, f.runOf(s.ID, r.ID), r)
	}},
	{"every state and only these can be stored", func(f *fixture) {
		r := f.saved(f.created("a").ID, "x")
		for _, r.State = range session.RunStates {
			f.update(func(tx store.Tx) error { return tx.SaveRun(r) })
			same(f, f.runOf(r.Session, r.ID).State, r.State)
		}
		r.State = "walking"
		if err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.SaveRun(r) }); err == nil {
			f.Fatal("a state that does not exist was stored")
		}
	}},
	{"an absent run, or one of another session, is not found", func(f *fixture) {
		r := f.saved(f.created("a").ID, "x")
		_, err := f.store.Run(f.ctx, r.Session, id.New[id.Run]())
		f.fails(err, store.ErrNotFound)
		_, err = f.store.Run(f.ctx, f.created("b").ID, r.ID)
		f.fails(err, store.ErrNotFound)
	}},
	{"a run needs its session", func(f *fixture) {
		if err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.SaveRun(f.run(id.New[id.Session](), "x")) }); err == nil {
			f.Fatal("a run without session was stored")
		}
	}},
	{"the order is that of creation, whatever ids and clock say", func(f *fixture) {
		s := f.created("a").ID
		later, earlier := f.run(s, "second by id"), f.run(s, "")
		earlier.ID, later.ID = later.ID, earlier.ID
		earlier.Text, later.Text = "1", "2"
		later.CreatedAt = start.Add(-time.Hour)
		f.update(func(tx store.Tx) error {
			f.ok(tx.SaveRun(later))
			return tx.SaveRun(earlier)
		})
		f.saved(s, "3")
		f.update(func(tx store.Tx) error { return tx.SaveRun(later) }) // saving again moves nothing
		same(f, f.runs(store.RunFilter{Session: s}), "2 1 3")
		same(f, f.runs(store.RunFilter{Session: s, Newest: true}), "3 1 2")
	}},
	{"lists are of one session, by states, after one, limited", func(f *fixture) {
		s, other := f.created("a").ID, f.created("b").ID
		f.saved(other, "other")
		var all []session.Run
		for _, text := range strings.Fields("1 2 3 4 5") {
			all = append(all, f.saved(s, text))
		}
		for _, i := range []int{1, 3} {
			all[i].State = session.RunCompleted
			f.update(func(tx store.Tx) error { return tx.SaveRun(all[i]) })
		}
		same(f, f.runs(store.RunFilter{Session: s}), "1 2 3 4 5")
		same(f, f.runs(store.RunFilter{Session: s, Limit: 2}), "1 2")
		same(f, f.runs(store.RunFilter{Session: s, Limit: 2, Newest: true}), "5 4")
		same(f, f.runs(store.RunFilter{Session: s, After: all[1].ID}), "3 4 5")
		same(f, f.runs(store.RunFilter{Session: s, After: all[4].ID}), "")
		same(f, f.runs(store.RunFilter{Session: s, After: all[3].ID, Newest: true, Limit: 2}), "3 2")
		same(f, f.runs(store.RunFilter{Session: s, States: []session.RunState{session.RunQueued}}), "1 3 5")
		same(f, f.runs(store.RunFilter{Session: s, States: []session.RunState{session.RunQueued, session.RunCompleted}, After: all[2].ID}), "4 5")
		same(f, f.runs(store.RunFilter{Session: id.New[id.Session]()}), "")
	}},
	{"a list after a run that is not the session's is not found", func(f *fixture) {
		s := f.created("a").ID
		f.saved(s, "1")
		foreign := f.saved(f.created("b").ID, "x")
		_, err := f.store.Runs(f.ctx, store.RunFilter{Session: s, After: foreign.ID})
		f.fails(err, store.ErrNotFound)
	}},
}

func (f *fixture) runOf(s id.Session, r id.Run) session.Run {
	f.Helper()
	found, err := f.store.Run(f.ctx, s, r)
	f.ok(err)
	return found
}

// runs gives the texts of the runs that a filter chooses.
func (f *fixture) runs(filter store.RunFilter) string {
	f.Helper()
	list, err := f.store.Runs(f.ctx, filter)
	f.ok(err)
	texts := []string{}
	for _, r := range list {
		texts = append(texts, r.Text)
	}
	return strings.Join(texts, " ")
}

var approvalCases = []testCase{
	{"every field comes back, and saving again stores over it", func(f *fixture) {
		r := f.saved(f.created("a").ID, "x")
		a := f.approval(r, approval.Pending)
		f.update(func(tx store.Tx) error { return tx.SaveApproval(a) })
		same(f, f.approvalOf(a), a)
		a.State, a.Actor, a.Reason, a.EndedAt, a.Deadline = approval.Rejected, "token x", hostile, start.Add(time.Second), time.Time{}
		a.Input, a.Grant = json.RawMessage(`{"command": "ls"}`), id.New[id.Grant]()
		f.update(func(tx store.Tx) error { return tx.SaveApproval(a) })
		same(f, f.approvalOf(a), a)
		same(f, len(f.approvals(r.Session, false)), 1)
	}},
	{"every state and only these can be stored", func(f *fixture) {
		a := f.approval(f.saved(f.created("a").ID, "x"), approval.Pending)
		for _, a.State = range []approval.State{approval.Pending, approval.Approved, approval.Rejected, approval.Deferred, approval.Expired} {
			f.update(func(tx store.Tx) error { return tx.SaveApproval(a) })
		}
		a.State = "maybe"
		if err := f.store.Update(f.ctx, func(tx store.Tx) error { return tx.SaveApproval(a) }); err == nil {
			f.Fatal("a state that does not exist was stored")
		}
	}},
	{"an absent approval, or one of another session, is not found", func(f *fixture) {
		a := f.approval(f.saved(f.created("a").ID, "x"), approval.Pending)
		_, err := f.store.Approval(f.ctx, a.Session, a.ID)
		f.fails(err, store.ErrNotFound)
		f.update(func(tx store.Tx) error { return tx.SaveApproval(a) })
		_, err = f.store.Approval(f.ctx, f.created("b").ID, a.ID)
		f.fails(err, store.ErrNotFound)
	}},
	{"lists are of one session, oldest first, or only the open ones", func(f *fixture) {
		r, other := f.saved(f.created("a").ID, "x"), f.saved(f.created("b").ID, "y")
		want, open := []id.Approval{}, []id.Approval{}
		for _, state := range []approval.State{approval.Pending, approval.Approved, approval.Deferred, approval.Rejected, approval.Expired, approval.Pending} {
			a := f.approval(r, state)
			a.Key = "k" + a.ID.String()
			f.update(func(tx store.Tx) error {
				f.ok(tx.SaveApproval(f.approval(other, state)))
				return tx.SaveApproval(a)
			})
			want = append(want, a.ID)
			if state.Open() {
				open = append(open, a.ID)
			}
		}
		same(f, f.approvals(r.Session, false), want)
		same(f, f.approvals(r.Session, true), open)
		same(f, f.approvals(id.New[id.Session](), false), []id.Approval{})
	}},
	{"a team's list is of what people were asked in its sessions, oldest first, after one, limited", func(f *fixture) {
		first, second := f.saved(f.created("a").ID, "x"), f.saved(f.created("b").ID, "y")
		stranger := f.approval(first, approval.Pending)
		stranger.Team = f.newTeam("other")
		f.update(func(tx store.Tx) error { return tx.SaveApproval(stranger) })
		var all, open []id.Approval
		for i, state := range []approval.State{approval.Pending, approval.Approved, approval.Deferred, approval.Pending} {
			a := f.approval([]session.Run{first, second}[i%2], state)
			f.update(func(tx store.Tx) error { return tx.SaveApproval(a) })
			all = append(all, a.ID)
			if state.Open() {
				open = append(open, a.ID)
			}
			atOnce := f.approval(first, approval.Approved)
			atOnce.Deadline = time.Time{}
			f.update(func(tx store.Tx) error { return tx.SaveApproval(atOnce) })
		}
		list := func(filter store.ApprovalFilter) []id.Approval {
			f.Helper()
			filter.Team = f.team
			found, err := f.store.TeamApprovals(f.ctx, filter)
			f.ok(err)
			return approvalIDs(found)
		}
		same(f, list(store.ApprovalFilter{}), all)
		same(f, list(store.ApprovalFilter{Open: true}), open)
		same(f, list(store.ApprovalFilter{Open: true, After: open[0], Limit: 1}), open[1:2])
		same(f, list(store.ApprovalFilter{After: all[3]}), []id.Approval{})
		_, err := f.store.TeamApprovals(f.ctx, store.ApprovalFilter{Team: f.team, After: stranger.ID})
		f.fails(err, store.ErrNotFound)
	}},
	{"due are the open ones whose deadline has come, the longest overdue first", func(f *fixture) {
		r := f.saved(f.created("a").ID, "x")
		var late []id.Approval
		for i, state := range []approval.State{approval.Deferred, approval.Pending, approval.Expired, approval.Pending, approval.Pending} {
			a := f.approval(r, state)
			a.Deadline = []time.Time{start, start.Add(-time.Second), start.Add(-time.Minute), start.Add(time.Microsecond), {}}[i]
			f.update(func(tx store.Tx) error { return tx.SaveApproval(a) })
			late = append(late, a.ID)
		}
		due, err := f.store.DueApprovals(f.ctx, start, 10)
		f.ok(err)
		same(f, approvalIDs(due), []id.Approval{late[1], late[0]})
		due, err = f.store.DueApprovals(f.ctx, start, 1)
		f.ok(err)
		same(f, approvalIDs(due), []id.Approval{late[1]})
	}},
	{"grants come back until they are revoked, and are of one session", func(f *fixture) {
		a := f.approval(f.saved(f.created("a").ID, "x"), approval.Approved)
		g := approval.Grant{
			ID: id.New[id.Grant](), Session: a.Session, Approval: a.ID, Actor: "me", Reason: hostile, At: start,
			Match: approval.Match{Action: event.ActionBash, Tool: "bash", Kind: "execute", Path: "/x", Input: json.RawMessage(`{"command":"ls"}`)},
		}
		f.update(func(tx store.Tx) error {
			f.ok(tx.SaveApproval(a))
			return tx.SaveGrant(g)
		})
		list, err := f.store.Grants(f.ctx, a.Session)
		f.ok(err)
		same(f, list, []approval.Grant{g})
		list, err = f.store.Grants(f.ctx, f.created("b").ID)
		f.ok(err)
		same(f, list, []approval.Grant{})
		g.RevokedAt, g.RevokedBy = start.Add(time.Second), hostile
		f.update(func(tx store.Tx) error { return tx.SaveGrant(g) })
		list, err = f.store.Grants(f.ctx, a.Session)
		f.ok(err)
		same(f, list, []approval.Grant{})
		found, err := f.store.Grant(f.ctx, a.Session, g.ID)
		f.ok(err)
		same(f, found, g)
		_, err = f.store.Grant(f.ctx, f.stored(a.Session).ID, id.New[id.Grant]())
		f.fails(err, store.ErrNotFound)
	}},
}

func approvalIDs(list []approval.Approval) []id.Approval {
	ids := []id.Approval{}
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	return ids
}

func (f *fixture) approvalOf(a approval.Approval) approval.Approval {
	f.Helper()
	found, err := f.store.Approval(f.ctx, a.Session, a.ID)
	f.ok(err)
	return found
}

func (f *fixture) approvals(s id.Session, open bool) []id.Approval {
	f.Helper()
	list, err := f.store.Approvals(f.ctx, s, open)
	f.ok(err)
	return approvalIDs(list)
}

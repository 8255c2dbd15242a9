package cli

import "paddock/client"

// lineage orders sessions so that each stands below the one it was forked from,
// and gives what to draw before each name. A session whose parent is not in the
// list is a root. The order of brothers stays.
func lineage(sessions []client.Session) (ordered []client.Session, branches []string) {
	here := map[string]bool{}
	for _, s := range sessions {
		here[s.SessionID] = true
	}
	children := map[string][]client.Session{}
	for _, s := range sessions {
		parent := s.ParentSessionID
		if !here[parent] || parent == s.SessionID {
			parent = ""
		}
		children[parent] = append(children[parent], s)
	}
	drawn := map[string]bool{}
	var draw func(parent, indent string)
	draw = func(parent, indent string) {
		list := children[parent]
		for i, s := range list {
			if drawn[s.SessionID] {
				continue
			}
			drawn[s.SessionID] = true
			branch, below := "├─ ", "│  "
			if i == len(list)-1 {
				branch, below = "└─ ", "   "
			}
			if parent == "" {
				branch, below = "", ""
			}
			ordered, branches = append(ordered, s), append(branches, indent+branch)
			draw(s.SessionID, indent+below)
		}
	}
	draw("", "")
	for _, s := range sessions { // of a circle nothing was drawn yet
		if !drawn[s.SessionID] {
			drawn[s.SessionID] = true
			ordered, branches = append(ordered, s), append(branches, "")
			draw(s.SessionID, "")
		}
	}
	return ordered, branches
}

// Package markdown lays an agent's markdown out for a terminal. The text is of
// a stranger: nothing in it, entities included, becomes more than characters.
package markdown

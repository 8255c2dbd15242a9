// Package plain makes text of strangers harmless on a terminal: whatever an
// agent, its tools or its errors say, it can neither move the cursor nor set a
// title, a clipboard or a colour.
package plain

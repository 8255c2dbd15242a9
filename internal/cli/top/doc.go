// Package top is the live table of `paddock top`: what each session's sandbox
// uses of the host, and what its agent is at.
package top

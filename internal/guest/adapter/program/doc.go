// Package program is the program of an agent as every adapter has it: started
// as the agent's user, read line by line, written to without waiting, its last
// words kept, its end told with them.
package program

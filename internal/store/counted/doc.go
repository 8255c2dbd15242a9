// Package counted is a store that tells the metrics what became durable in the
// store behind it: in how many states things are, and how many events there
// were. What is counted is kept by what happens, so that looking at it costs
// nothing, however much is stored.
package counted

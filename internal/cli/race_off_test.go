//go:build !race

package cli

// raceDetector says whether these tests run under the race detector.
const raceDetector = false

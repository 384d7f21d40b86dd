//go:build !race

package replica

// raceEnabled says that the race detector makes tests slow.
const raceEnabled = false

package sandbox

import (
	"fmt"
	"time"
)

// Totals bound all processes of a command together. Zero does not bound. The kernel enforces
// them where the command has a control group; elsewhere whoever runs the command calls
// Measure, and ends it.
type Totals struct {
	Processes int
	Memory    uint64 // bytes of its own; what it shares with others counts in part
}

func (t Totals) within(o Totals) Totals {
	return Totals{
		Processes: int(least(uint64(t.Processes), uint64(o.Processes))),
		Memory:    least(t.Memory, o.Memory),
	}
}

// exceededBy says in a sentence by what a command that uses u is beyond the limits, or "".
func (t Totals) exceededBy(u Totals) string {
	const remedy = "in sandbox.limits of the user's settings changes it"
	switch {
	case t.Processes > 0 && u.Processes > t.Processes:
		return fmt.Sprintf("it had %d processes, more than %d; processes %s", u.Processes, t.Processes, remedy)
	case t.Memory > 0 && u.Memory > t.Memory:
		return fmt.Sprintf("its processes used %d MiB of memory together, more than %d; totalMemoryMB %s", u.Memory>>20, t.Memory>>20, remedy)
	}
	return ""
}

// list says what the limits are.
func (t Totals) list() (all []string) {
	if t.Processes > 0 {
		all = append(all, fmt.Sprintf("%d processes of a command", t.Processes))
	}
	if t.Memory > 0 {
		all = append(all, fmt.Sprintf("%d MiB of memory of all processes of a command", t.Memory>>20))
	}
	return all
}

// least returns the smaller of two limits, of which zero is none.
func least(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// measureTick is how often a command is compared with its limits.
const measureTick = 250 * time.Millisecond

// Measure returns when the processes of the command are beyond the totals of its profile,
// and says in a sentence by what, or when ended is closed. Close has to come after.
func (p *Process) Measure(ended <-chan struct{}) (why string) {
	tick := time.NewTicker(measureTick)
	defer tick.Stop()
	for why == "" {
		select {
		case <-ended:
			return p.exceededLast()
		case <-tick.C:
			why = p.exceeds()
		}
	}
	return why
}

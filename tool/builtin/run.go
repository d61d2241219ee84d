package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/actorswarm/swarm/internal/shell"
	"github.com/actorswarm/swarm/tool"
)

// run is one foreground command and how it ended.
type run struct {
	command string
	out     *capture
	timeout time.Duration
	linger  time.Duration

	code     int
	by       syscall.Signal
	timedOut bool
	stopped  error // why, if it was stopped from outside
	flooded  bool
	exceeds  string // by what it was beyond its limits; "" if it was not
	moved    bool   // to the background; it runs on
	notes    []string
}

// await waits until the process ends, has to be ended, or is moved to the background.
func (r *run) await(ctx context.Context, p *process, closing, move <-chan struct{}) {
	timer := time.NewTimer(r.timeout)
	defer timer.Stop()
	var err error
	natural := false
	select {
	case <-p.ended:
		natural = true
	case <-move:
		r.moved = true
		return
	case <-timer.C:
		r.timedOut = true
		err = p.terminate(killGrace)
	case <-ctx.Done():
		r.stopped = context.Cause(ctx)
		err = p.terminate(stopGrace)
	case <-closing:
		r.stopped = ErrClosed
		err = p.terminate(stopGrace)
	case r.exceeds = <-p.exceeds:
		err = p.signal(syscall.SIGKILL)
	case <-r.out.full:
		r.flooded = true
		err = p.signal(syscall.SIGKILL)
	}
	limit := sweepLimit
	if natural {
		p.awaitChildren(r.linger, ctx.Done(), closing)
	}
	if r.stopped != nil {
		limit = stopSweep
	}
	left := p.finish(limit)
	r.code, r.by, _ = p.exit()
	r.addNotes(left, errors.Join(err, left.err), natural)
}

func (r *run) addNotes(left leftovers, err error, natural bool) {
	if left.alive {
		r.notes = append(r.notes, "Some processes of this command could not be ended in time and may still run.")
	}
	if natural && left.killed > 0 {
		r.notes = append(r.notes, fmt.Sprintf("Processes the command had left running were ended: %d. Use run_in_background for what should go on.", left.killed))
	}
	if err != nil {
		r.notes = append(r.notes, fmt.Sprintf("Ending the command was difficult: %v", err))
	}
}

// result returns the output with the notes on how the command ended.
func (r *run) result() tool.Result {
	why := ""
	if r.by == 0 {
		why = shell.ExplainExitCode(r.command, r.code)
	}
	head := r.headline()
	failed := head != "" && (why == "" || r.cutShort())
	if !failed && why != "" {
		head = ""
		r.notes = append(r.notes, fmt.Sprintf("Exit code %d: %s.", r.code, why))
	}
	parts := []string{head, r.out.text()}
	for _, n := range r.notes {
		if n != "" {
			parts = append(parts, "("+n+")")
		}
	}
	text := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
	if text == "" {
		text = "(no output)"
	}
	return tool.Result{Text: text, IsError: failed, Detail: r.detail(why)}
}

func (r *run) cutShort() bool { return r.timedOut || r.stopped != nil || r.flooded || r.exceeds != "" }

func (r *run) headline() string {
	switch {
	case r.timedOut:
		return fmt.Sprintf("The command was ended after its time limit of %v; this is its output so far. Give a longer timeout, or use run_in_background.", r.timeout)
	case r.stopped != nil:
		return fmt.Sprintf("The command was stopped: %v. This is its output so far.", r.stopped)
	case r.flooded:
		return fmt.Sprintf("The command was ended after printing %s.", size(maxOutput))
	case r.exceeds != "":
		return fmt.Sprintf("The command was ended: %s. This is its output so far.", r.exceeds)
	case r.by != 0:
		return fmt.Sprintf("Exit code %d (ended by signal: %v)", r.code, r.by)
	case r.code != 0:
		return fmt.Sprintf("Exit code %d", r.code)
	}
	return ""
}

// bashDetail is the structured form of a result.
type bashDetail struct {
	ExitCode    *int   `json:"exitCode,omitempty"`
	Interrupted bool   `json:"interrupted"`
	TimedOut    int64  `json:"timedOutAfterMs,omitempty"`
	Meaning     string `json:"returnCodeInterpretation,omitempty"`
	Path        string `json:"persistedOutputPath,omitempty"`
	Size        int64  `json:"persistedOutputSize,omitempty"`
	TaskID      string `json:"backgroundTaskId,omitempty"`
}

func (r *run) detail(why string) json.RawMessage {
	d := bashDetail{ExitCode: &r.code, Interrupted: r.stopped != nil, Meaning: why}
	if r.timedOut {
		d.TimedOut = r.timeout.Milliseconds()
	}
	d.Path, d.Size = r.out.savedFile()
	return d.encode()
}

func (d bashDetail) encode() json.RawMessage {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil // strings and numbers always encode
	}
	return raw
}

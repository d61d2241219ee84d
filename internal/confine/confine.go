// Package confine makes the profiles that the commands of one agent run under: those of
// internal/sandbox for the place where the agent works, with a private temporary directory
// and without the files that rules deny.
//
//	c := confine.New(confine.Options{Place: place, Denied: denied})
//	p, err := c.Profile(sandbox.Edit)
//	proc, err := sandbox.Start(cmd, p)
//	err = c.Close() // when no command runs any more
//
// Laws:
//
//   - A profile that the machine cannot enforce is an error and never a wider one, but for
//     inspect, for which permission.Policy.Unconfined is the other half
//     (TestEditIsNeverReplaced).
//   - What rules deny is hidden from commands under each profile, and what they have a
//     person asked about from those that run unasked (TestDeniedFilesAreHidden); where
//     there are too many files to find out, no command runs unasked
//     (TestTooManyFilesRefuseWhatRunsUnasked).
//   - No command changes what is out of bounds, but for what is free in it
//     (TestBoundsHold).
//   - A temporary directory goes with its owner: by Close, or by RemoveLeftovers of a later
//     process when the owner was killed, and never before
//     (TestLeftoversOfTheDeadAreRemoved).
//
// Not promised: that a file which starts to match a rule while a command runs is hidden
// from that command.
package confine

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// Options configure the profiles of an agent.
type Options struct {
	Place sandbox.Place
	// Denied returns what reports whether rules keep commands from reading, or from
	// changing, a file or directory; unasked commands also where they have a person asked.
	// nil, or a nil result: no rule does.
	Denied func() func(path string, unasked bool) (read, change bool)
	// Bounds returns what no command may change, and what below that it may all the same. nil:
	// nothing.
	Bounds func() (fixed, free []string, err error)
	// Outlet gives commands under edit a network of their own with an outlet, where the
	// machine can, and Sockets lets them use Unix sockets.
	Outlet, Sockets bool
	Remedy          string // what lets commands under edit do more; "" is a rule or an answer
}

// Commands makes the profiles. Its methods may be called concurrently.
type Commands struct {
	options Options

	mu   sync.Mutex
	temp *temp                            // made when it is first needed; guarded by mu
	made map[sandbox.Name]sandbox.Profile // guarded by mu
}

// New returns the profiles of an agent. Close removes what they need.
func New(o Options) *Commands {
	return &Commands{options: o, made: make(map[sandbox.Name]sandbox.Profile)}
}

// Profile returns the profile of a command that starts now; "" is open.
func (c *Commands) Profile(name sandbox.Name) (sandbox.Profile, error) {
	if name == "" || name == sandbox.Inspect && sandbox.Probe().Enforces(name) != nil {
		name = sandbox.Open
	}
	if err := sandbox.Probe().Enforces(name); err != nil && name != sandbox.Open {
		return sandbox.Profile{}, err
	}
	p, err := c.base(name)
	if err == nil && c.options.Bounds != nil && name != sandbox.Inspect {
		err = c.bound(&p)
	}
	if err != nil || c.options.Denied == nil {
		return p, err
	}
	denied := c.options.Denied()
	if denied == nil {
		return p, nil
	}
	return p, c.deny(&p, denied)
}

// bound fixes what is out of bounds.
func (c *Commands) bound(p *sandbox.Profile) error {
	fixed, free, err := c.options.Bounds()
	if err != nil {
		return fmt.Errorf("find out what a command may change: %w", err)
	}
	free = slices.DeleteFunc(free, func(path string) bool { return !p.MayWrite(real(path)) })
	p.Fixed = slices.Clone(p.Fixed)
	for _, path := range fixed {
		if _, err := os.Lstat(path); err == nil { // what is not there would be made as a placeholder
			p.Fixed = append(p.Fixed, sandbox.Fixed{Path: real(path)})
		}
	}
	for _, path := range free {
		p.Free = append(p.Free, real(path))
	}
	return nil
}

// base returns a profile without what rules deny. It is made once: finding the toolchains
// takes a millisecond.
func (c *Commands) base(name sandbox.Name) (sandbox.Profile, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.makeTemp(); err != nil {
		return sandbox.Profile{}, err
	}
	p, ok := c.made[name]
	if !ok {
		if p = c.options.Place.Profile(name); !sandbox.Probe().Launcher {
			p.Limits = sandbox.Limits{} // nothing can enforce them, and the machine says so
		}
		if name == sandbox.Edit {
			p.Outlet, p.Sockets = c.options.Outlet && sandbox.Probe().Networks() == nil, c.options.Sockets
			p.Wider = c.options.Remedy
		}
		p.Mask = c.temp.mask()
		if name != sandbox.Open {
			p.Temp = c.temp.files()
		}
		c.made[name] = p
	}
	return p, nil
}

// Temp returns the private temporary directory, which every profile may write.
func (c *Commands) Temp() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.makeTemp(); err != nil {
		return "", err
	}
	return c.temp.files(), nil
}

func (c *Commands) makeTemp() (err error) {
	if c.temp != nil {
		return nil
	}
	if c.temp, err = makeTemp(); err != nil {
		return fmt.Errorf("make a temporary directory for commands: %w", err)
	}
	return nil
}

// Close removes the temporary directory. No command may run any more.
func (c *Commands) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.temp == nil {
		return nil
	}
	t := c.temp
	c.temp = nil
	clear(c.made)
	return t.remove()
}

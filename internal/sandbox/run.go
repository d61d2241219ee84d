package sandbox

import (
	"errors"
	"fmt"
	"os/exec"
)

// Run runs a command under a profile to its end, and ends what it leaves behind, whatever
// that has shed. The error of the command itself is as that of exec.Cmd.Run.
func Run(cmd *exec.Cmd, p Profile) error {
	proc, err := Start(cmd, p)
	if err != nil {
		return err
	}
	waited := proc.Wait()
	if err := proc.finish(); err != nil {
		return errors.Join(waited, err)
	}
	return waited
}

func (p *Process) finish() error {
	_, err := p.KillAll()
	if err = errors.Join(err, p.Close()); err != nil {
		return fmt.Errorf("end what %s has started: %w", p.cmd.Path, err)
	}
	return nil
}

// Reading returns the profile for a program of our own choice that only reads the place:
// inspect with the home, where its settings may lie, or open where the machine cannot
// enforce that.
func (pl Place) Reading() Profile {
	if Probe().Enforces(Inspect) != nil {
		return pl.Profile(Open)
	}
	p := pl.Profile(Inspect)
	if pl.Home != "" {
		p.Read = outermost(append(p.Read, real(pl.Home)))
	}
	return p
}

// Changing returns the profile for a program of our own choice that changes some paths and
// reads whatever is not hidden, or open where the machine cannot enforce that.
func (pl Place) Changing(paths ...string) Profile {
	if Probe().Enforces(Inspect) != nil {
		return pl.Profile(Open)
	}
	hidden, shown := pl.hidden()
	return Profile{Name: Inspect, Read: []string{"/"}, Write: outermost(each(paths, real)), Hidden: hidden, Shown: shown, Limits: pl.Limits}
}

package member

import (
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/session"
)

// Prove returns the proof for Join that the calling program has the seed of a name's key.
// The proof is good for this name of this session alone.
func Prove(seed, session, name string) (string, error) {
	proof, err := natsd.Sign(seed, proven(session, name))
	if err != nil {
		return "", fmt.Errorf("the token of %s cannot be used: %w", name, err)
	}
	return proof, nil
}

func proven(session, name string) []byte { return []byte("swarm member\x00" + session + "\x00" + name) }

// checkName accepts a process of the user under each name that belongs to no key.
func (s *Service) checkName(in *requestFields) error {
	key, err := s.keyOf(in.Name)
	if err != nil || key == "" {
		return err
	}
	return s.refuse(in)
}

// checkKey accepts whoever has the key of the name.
func (s *Service) checkKey(in *requestFields) error {
	key, err := s.keyOf(in.Name)
	if err != nil {
		return err
	}
	if key == "" || natsd.Verify(key, proven(s.options.Session, in.Name), in.Proof) != nil {
		return s.refuse(in)
	}
	return nil
}

func (s *Service) keyOf(name string) (string, error) {
	if s.options.KeyOf == nil {
		return "", nil
	}
	return s.options.KeyOf(name)
}

// refuse records a request that came without a proof.
func (s *Service) refuse(in *requestFields) error {
	err := &session.KeyError{Name: clip(in.Name), Session: s.options.Session}
	if s.options.Audit != nil {
		s.options.Audit(event.Audit{Subject: clip(in.Name), Reason: errUnproven.Error()})
	}
	return err
}

var errUnproven = errors.New("a request in the name of a member came without the proof of its key")

// clip bounds a name that nobody has checked.
func clip(name string) string { return fmt.Sprintf("%.32s", name) }

// Proves reports whether a seed is that of a public key.
func Proves(seed, key, session, name string) bool {
	proof, err := Prove(seed, session, name)
	return err == nil && natsd.Verify(key, proven(session, name), proof) == nil
}

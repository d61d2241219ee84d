package transcript

import (
	"slices"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
)

// Letter is a message of another session that waits until a person lets it in, and
// what that person has said. It is kept by the member that stands for the session.
type Letter struct {
	Consent
	ID      mailbox.ID  `json:"id"`   // as that session knows it
	From    string      `json:"from"` // the agent there
	Mode    string      `json:"mode"` // of that session, as it says
	Summary string      `json:"summary,omitempty"`
	Body    string      `json:"body,omitempty"` // gone once it is decided
	Ref     mailbox.Ref `json:"ref,omitempty"`  // of a long body
}

// mostDecided bounds the letters that are remembered once they are decided, so that
// their sender hears of it.
const mostDecided = 100

// letterMeta is the record of a letter that a person is asked about, or of what was
// said about it.
type letterMeta struct {
	Time   time.Time `json:"t"`
	Letter Letter    `json:"letter"`
}

// applyLetter folds the record. The letters are replaced, never changed in place.
func (l *life) applyLetter(m *letterMeta) {
	l.Active = m.Time
	all := slices.DeleteFunc(slices.Clone(l.Letters), func(o Letter) bool { return o.ID == m.Letter.ID })
	one := m.Letter
	if one.Decided() {
		one.Body, one.Ref = "", ""
		decided := 0
		for _, o := range slices.Backward(all) {
			if o.Decided() {
				decided++
			}
			if decided == mostDecided {
				all = slices.DeleteFunc(all, func(x Letter) bool { return x.ID == o.ID })
				break
			}
		}
	}
	l.Letters = append(all, one)
}

// Letters returns the letters of other sessions about which a person is or was
// asked, in the order in which they came to be as they are.
func (t *Transcript) Letters() []Letter {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.life.Letters)
}

// Letter returns what is known of a letter of another session.
func (t *Transcript) Letter(id mailbox.ID) (Letter, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.life.letter(id)
}

func (l life) letter(id mailbox.ID) (Letter, bool) {
	at := slices.IndexFunc(l.Letters, func(o Letter) bool { return o.ID == id })
	if at < 0 {
		return Letter{}, false
	}
	return l.Letters[at], true
}

// Hold records a letter that a person is asked about, until the time that it says;
// zero is for ever. What was recorded before stays. It returns what counts when that
// is on disk.
func (t *Transcript) Hold(l Letter) (Letter, error) {
	body, err := t.store.keepLong(mailbox.Envelope{Kind: mailbox.KindText, Body: l.Body})
	if err != nil {
		return l, err
	}
	l.Body, l.Ref, l.State, l.Asked = body.Body, body.Ref, ConsentAsked, time.Now()
	l, ticket, err := t.hold(l)
	if err != nil || ticket == (journal.Ticket{}) {
		return l, err // recorded before
	}
	if err := ticket.Wait(); err != nil || l.Ref == "" {
		return l, err
	}
	return l, t.store.objects.Keep(l.Ref)
}

func (t *Transcript) hold(l Letter) (Letter, journal.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.life.letter(l.ID); ok {
		return known, journal.Ticket{}, nil
	}
	ticket, err := t.add(kindLetter, &letterMeta{Time: l.Asked, Letter: l}, nil)
	return l, ticket, err
}

// DecideLetter records what a person said to a letter, or that nobody did. It
// returns when that is on disk. A second decision is ErrDecided.
func (t *Transcript) DecideLetter(id mailbox.ID, d Consent) error {
	ticket, err := t.decideLetter(id, d)
	return wait(ticket, err)
}

func (t *Transcript) decideLetter(id mailbox.ID, d Consent) (journal.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.life.letter(id)
	if !ok || l.Decided() {
		return journal.Ticket{}, ErrDecided
	}
	l.State, l.By, l.Note, l.Body, l.Ref = d.State, d.By, d.Note, "", ""
	return t.add(kindLetter, &letterMeta{Time: time.Now(), Letter: l}, nil)
}

// LetterBody returns the whole body of a letter that waits.
func (s *Store) LetterBody(l Letter) (string, error) {
	return s.Body(mailbox.Envelope{Body: l.Body, Ref: l.Ref})
}

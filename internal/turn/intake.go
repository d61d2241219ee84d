package turn

import (
	"fmt"
	"slices"
	"sort"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// A part of a large item has at least minPart bytes. A message waits for a later request
// rather than be cut below minMail, unless it is the only content.
const (
	minPart = 400
	minMail = 4 << 10
)

// piece is new content that waits for a request.
type piece struct {
	block model.Block
	size  int  // encoded
	whole bool // may not be cut
}

// intake selects the content of the next request: whole items that fit, and of larger ones
// a first part that says where the rest is. Small items remain whole as long as larger ones
// can be cut; prompts come before everything else.
func (t *Turn) intake(d transcript.Draft, g gauge) (transcript.Intake, []mailbox.Envelope, error) {
	in := transcript.Intake{Waiting: len(d.Waiting), Short: map[int]model.Block{}}
	room := g.room()
	if d.Fresh && t.Facts != nil {
		if facts := t.Facts(); facts != "" {
			in.Blocks = append(in.Blocks, model.Text("<system-reminder>\n"+facts+"\n</system-reminder>"))
			room -= sizeOf(in.Blocks[0])
		}
	}
	waiting, mail := pieces(d), mailPieces(d.Mail)
	results, prompts := waiting[:len(d.Results)], waiting[len(d.Results):]
	words := cutLimit(prompts, room-minPart*len(results))
	room = min(room-cutSize(prompts, words), g.share())
	if g.room() >= minPart { // otherwise the request fails, and should do so once for all mail
		mail = mail[:mailThatFits(results, mail, room, len(waiting) == 0)]
	}
	rest := cutLimit(slices.Concat(results, mail), room)
	for i, p := range waiting {
		limit := rest
		if i >= len(results) {
			limit = words
		}
		if p.size <= limit || p.whole {
			continue
		}
		short, err := t.shorten(d, i, p.block, limit)
		if err != nil {
			return in, nil, err
		}
		in.Short[i] = short
	}
	read, err := t.addMail(&in, d.Mail[:len(mail)], mail, rest)
	return in, read, err
}

// addMail adds messages and cuts those above limit.
func (t *Turn) addMail(in *transcript.Intake, read []mailbox.Envelope, sizes []piece, limit int) ([]mailbox.Envelope, error) {
	for i, e := range read {
		if sizes[i].size > limit {
			var err error
			if e, err = t.shortenMail(e, limit); err != nil {
				return nil, err
			}
		}
		in.Mail = append(in.Mail, e.ID)
		in.Blocks = append(in.Blocks, Frame([]mailbox.Envelope{e})...)
	}
	return read, nil
}

// cutSize returns the size of all pieces, each cut to limit.
func cutSize(all []piece, limit int) int {
	n := 0
	for _, p := range all {
		if p.whole {
			n += p.size
		} else {
			n += min(p.size, limit)
		}
	}
	return n
}

func sizeOf(b model.Block) int { return len(b.AppendJSON(nil)) }

func pieces(d transcript.Draft) []piece {
	all := make([]piece, len(d.Waiting))
	for i, raw := range d.Waiting {
		all[i] = piece{size: len(raw), whole: len(raw) <= minPart || d.Fixed && i == len(d.Results)}
		if all[i].whole {
			continue
		}
		b, err := model.BlockFromRaw(raw)
		all[i].block = b
		all[i].whole = err != nil || b.Raw != nil || b.Type != model.TypeText && b.Type != model.TypeToolResult
	}
	return all
}

func mailPieces(mail []mailbox.Envelope) []piece {
	all := make([]piece, len(mail))
	for i, b := range Frame(mail) {
		all[i] = piece{size: sizeOf(b)}
	}
	return all
}

// mailThatFits returns how many of the messages, oldest first, enter the request: at least
// one if there is no other content.
func mailThatFits(results, mail []piece, room int, alone bool) int {
	least := min(minMail, max(room/2, minPart+1))
	n := sort.Search(len(mail), func(n int) bool {
		all := slices.Concat(results, mail[:n+1])
		l := cutLimit(all, room)
		return cutSize(all, l) > room || l < least && l < largest(all)
	})
	if n == 0 && alone {
		return min(1, len(mail)) // whatever its size, or it would wait for ever
	}
	return n
}

func largest(all []piece) int {
	n := 0
	for _, p := range all {
		n = max(n, p.size)
	}
	return n
}

// cutLimit returns the size to which pieces are cut so that all fit into room, and at
// least minPart.
func cutLimit(all []piece, room int) int {
	var sizes []int
	for _, p := range all {
		if p.whole {
			room -= p.size
		} else {
			sizes = append(sizes, p.size)
		}
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		share := room / (len(sizes) - i)
		if size > share {
			return max(share, minPart)
		}
		room -= size
	}
	return max(largest(all), minPart)
}

// shorten returns a waiting block cut to at most limit bytes.
func (t *Turn) shorten(d transcript.Draft, i int, b model.Block, limit int) (model.Block, error) {
	id, text := b.ToolUseID, b.Content
	put := func(text string) model.Block { return model.ToolResult(id, text, b.IsError) }
	if b.Type == model.TypeText {
		id, text, put = fmt.Sprintf("prompt-%d-%d", len(d.Messages), i), b.Text, model.Text
	}
	text, err := t.cut(id, text, limit, func(text string) int { return sizeOf(put(text)) })
	return put(text), err
}

func (t *Turn) shortenMail(e mailbox.Envelope, limit int) (mailbox.Envelope, error) {
	var err error
	e.Body, err = t.cut(string(e.ID), e.Body, limit, func(text string) int {
		e := e
		e.Body = text
		return sizeOf(model.Text(frameOne(e)))
	})
	return e, err
}

// cut returns the first part of a text and a note where the whole is. Its size is at most
// limit, unless the note alone exceeds it.
func (t *Turn) cut(id, text string, limit int, size func(string) int) (string, error) {
	where := "in this agent's transcript"
	if t.TranscriptPath != "" {
		where += ", " + t.TranscriptPath
	}
	if t.Spill != nil {
		path, err := t.Spill(id, text)
		if err != nil {
			return "", fmt.Errorf("keep the whole of %s, of which a request carries a part: %w", id, err)
		}
		where = "in " + path
	}
	for n := min(limit, len(text)); ; {
		part := head(text, n)
		short := fmt.Sprintf("%s\n[cut for its size: this is the first %d of %d bytes; the whole is %s]", part, len(part), len(text), where)
		over := size(short) - limit
		if over <= 0 || part == "" {
			return short, nil
		}
		n = len(part) - max(over/2, 1) // encoding doubles the size at most
	}
}

// head returns at most the first n bytes of text, cut between characters.
func head(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n = max(n, 0); n > 0 && text[n]&0xC0 == 0x80; n-- {
	}
	return text[:n]
}

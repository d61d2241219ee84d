package builtin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/actorswarm/swarm/tool"
)

const (
	pageBytes = 100_000  // of one answer of Read, about 25,000 tokens
	maxText   = 64 << 20 // of a file that is hashed, edited or searched
	sniffLen  = 8000     // bytes that decide between text and binary
)

const readSchema = `{"type":"object","additionalProperties":false,"required":["file_path"],"properties":{` +
	`"file_path":{"type":"string","description":"The file, absolute or relative to the working directory"},` +
	`"offset":{"type":"integer","minimum":1,"description":"First line to show, counted from 1"},` +
	`"limit":{"type":"integer","minimum":1,"description":"How many lines to show"}}}`

const readDescription = `Shows a text file with line numbers (number, tab, line).
A file too long for one answer is shown from the start with a PARTIAL notice that names the next offset; use offset and limit, or Grep, for the rest.
Lines over 2000 characters are cut. Folders, binary files, images and special files are refused.
Read a file before you Edit it or Write over it.`

type readTool struct {
	at   place
	seen *views
}

type readInput struct {
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"`
}

func (*readTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "Read", Description: readDescription, Schema: json.RawMessage(readSchema),
		ReadOnly: true, Parallel: true,
	}
}

func (t *readTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in readInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	path, real, err := t.at.locate(c, in.FilePath)
	if err != nil {
		return failure(err), nil
	}
	f, info, err := openRegular(real)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Errorf("%s", t.at.missing(path)), nil
	}
	if err != nil {
		return failure(err), nil
	}
	res, err := t.show(ctx, f, page{path: path, real: real, size: info.Size(), from: max(in.Offset, 1), limit: in.Limit})
	if err = errors.Join(err, f.Close()); err != nil {
		return failure(err), nil
	}
	return res, nil
}

func (t *readTool) show(ctx context.Context, f *os.File, p page) (tool.Result, error) {
	sum := sha256.New()
	r := bufio.NewReaderSize(io.TeeReader(f, sum), 64<<10)
	head, err := r.Peek(sniffLen)
	if err != nil && err != io.EOF {
		return tool.Result{}, fmt.Errorf("read %s: %w", p.path, err)
	}
	if kind := binaryKind(head); kind != "" {
		return tool.Errorf("%s is not text but %s (%s), which cannot be shown in a text result%s", p.path, kind, size(p.size), wayOut(kind)), nil
	}
	if err := p.collect(ctx, r); err != nil {
		return tool.Result{}, err
	}
	d := p.digest(sum)
	if p.shown.from > 0 && t.seen.repeated(p.real, d, p.shown) {
		return tool.Result{Text: fmt.Sprintf("%s is unchanged since you last read these lines (%d-%d).", t.at.show(p.path), p.shown.from, p.shown.to)}, nil
	}
	t.seen.showed(p.real, d, p.lines, p.shown)
	return p.result(), nil
}

// page is one result of Read.
type page struct {
	path, real string
	size       int64
	from       int // first line asked for
	limit      int // lines asked for, 0 for all

	text  strings.Builder
	shown span
	lines int  // in the file, -1 when not counted
	full  bool // the page ended for its size
	odd   bool // bytes that are not UTF-8 were replaced
}

// collect reads the file to its end, or until the page is full if the file is too large to
// be hashed.
func (p *page) collect(ctx context.Context, r *bufio.Reader) error {
	lr := lineReader{r: r, keep: maxLineRunes*utf8.UTFMax + utf8.UTFMax}
	buf := make([]byte, 0, 4096)
	for n := 1; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s was stopped: %w", p.path, context.Cause(ctx))
		}
		line, dropped, err := lr.next(buf)
		if err == io.EOF {
			p.lines = n - 1
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", p.path, err)
		}
		if n >= p.from {
			p.add(n, line, dropped)
		}
		if p.size > maxText && p.done(n) {
			p.lines = -1
			return nil
		}
	}
}

func (p *page) done(n int) bool { return p.full || p.limit > 0 && n >= p.from+p.limit-1 }

func (p *page) add(n int, line []byte, dropped int) {
	if p.full || p.limit > 0 && n >= p.from+p.limit {
		return
	}
	if n == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	text := clipLine(line, dropped, maxLineRunes)
	if p.text.Len() > 0 && p.text.Len()+len(text)+8 > pageBytes {
		p.full = true
		return
	}
	p.odd = p.odd || dropped == 0 && !utf8.Valid(line)
	fmt.Fprintf(&p.text, "%6d\t%s\n", n, text)
	if p.shown.from == 0 {
		p.shown.from = n
	}
	p.shown.to = n
}

func (p *page) digest(sum hash.Hash) digest {
	if p.lines < 0 {
		return digest{}
	}
	return digest(sum.Sum(nil))
}

func (p *page) result() tool.Result {
	if p.shown.from == 0 {
		if p.lines == 0 {
			return tool.Result{Text: fmt.Sprintf("%s is empty.", p.path)}
		}
		return tool.Errorf("%s has %d lines; there is no line %d", p.path, p.lines, p.from)
	}
	text := strings.TrimSuffix(p.text.String(), "\n")
	if p.odd {
		text += "\n\n(Bytes that are not UTF-8 are shown as \uFFFD; Edit does not change this file.)"
	}
	return tool.Result{Text: text + p.notice()}
}

// notice returns which part of the file was left out, if any.
func (p *page) notice() string {
	total := "more"
	if p.lines >= 0 {
		if p.shown.to >= p.lines {
			return ""
		}
		total = fmt.Sprint(p.lines)
	}
	if !p.full {
		return fmt.Sprintf("\n\n(Lines %d-%d of %s.)", p.shown.from, p.shown.to, total)
	}
	return fmt.Sprintf("\n\nPARTIAL view: lines %d-%d of %s (%s). Read on with offset %d, or find what you need with Grep.",
		p.shown.from, p.shown.to, total, size(p.size), p.shown.to+1)
}

// binaryKind returns the kind of a content that is not text, or "".
func binaryKind(head []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16 text"
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return "application/pdf"
	case bytes.IndexByte(head, 0) >= 0:
		return kind
	case !validPrefix(head) && !strings.HasPrefix(kind, "text/"):
		return kind
	}
	return ""
}

// validPrefix is utf8.Valid for a text that may be cut inside a character.
func validPrefix(head []byte) bool {
	for range utf8.UTFMax - 1 {
		if len(head) < sniffLen-utf8.UTFMax || utf8.Valid(head) {
			break
		}
		head = head[:len(head)-1]
	}
	return utf8.Valid(head)
}

func wayOut(kind string) string {
	switch {
	case kind == "application/pdf":
		return "; extract its text through Bash, with pdftotext if it is there"
	case kind == "UTF-16 text":
		return "; convert it through Bash with iconv"
	case strings.HasPrefix(kind, "image/"):
		return "; images are not supported"
	}
	return ""
}

// failure turns an error about a file into a result for the model.
func failure(err error) tool.Result { return tool.Errorf("%v", err) }

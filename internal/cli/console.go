package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/actorswarm/swarm/internal/term"
)

// Console holds the input, the outputs and the environment of a command.
type Console struct {
	In     io.Reader
	Out    io.Writer // results, and nothing else
	Err    io.Writer // progress, warnings and errors
	Getenv func(string) string
}

// Notef writes one line to standard error. It ignores an error, which could not be
// reported elsewhere.
func (c *Console) Notef(format string, args ...any) {
	fmt.Fprintf(c.Err, "%s\n", term.Clean(fmt.Sprintf(format, args...)))
}

// Print writes text to standard output.
func (c *Console) Print(text string) error { return Fprint(c.Out, text) }

// PrintJSON writes v as one line of JSON to standard output.
func (c *Console) PrintJSON(v any) error { return WriteJSON(c.Out, v) }

// Screen is what standard output can show, and ErrScreen what standard error can.
func (c *Console) Screen() Screen    { return NewScreen(c.Out, c.Getenv) }
func (c *Console) ErrScreen() Screen { return NewScreen(c.Err, c.Getenv) }

// Sessions returns the sessions in the state directory that the environment selects.
func (c *Console) Sessions() Sessions { return Sessions{c.Getenv} }

// OnTerminal reports whether standard input and standard output are both terminals.
func (c *Console) OnTerminal() bool {
	_, in := term.Columns(c.In)
	_, out := term.Columns(c.Out)
	return in && out
}

// Files returns standard input and output as files, which a terminal needs.
func (c *Console) Files() (in, out *os.File, err error) {
	in, isIn := c.In.(*os.File)
	out, isOut := c.Out.(*os.File)
	if !isIn || !isOut {
		return nil, nil, Usagef("there is no terminal to talk at; give a prompt: swarm run PROMPT")
	}
	return in, out, nil
}

// Fprint writes text. Its error names the output.
func Fprint(w io.Writer, text string) error {
	if _, err := fmt.Fprint(w, text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// WriteJSON writes v as one line of JSON, without escaping < and >.
func WriteJSON(out io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode a line of output: %w", err)
	}
	_, err := out.Write(b.Bytes())
	return err
}

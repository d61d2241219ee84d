package rpc

import (
	"encoding/json"
	"errors"
)

var (
	// ErrBusy is the answer of a server that works on as many requests as it may.
	ErrBusy = errors.New("the session is busy with other requests; try again")
	// ErrNotPermitted reports a request that the NATS server does not let its caller make.
	ErrNotPermitted = errors.New("the server refuses it")
)

// RemoteError is an error of another process.
type RemoteError struct {
	Text string
	Is   error // the error that it is for callers; nil is none that they know
}

func (e *RemoteError) Error() string { return e.Text }

// Unwrap returns the error that it is for callers.
func (e *RemoteError) Unwrap() error { return e.Is }

// Errors are the errors that are the same for a server and its clients.
type Errors []KnownError

// KnownError is an error that keeps its identity between processes.
type KnownError struct {
	name   string
	code   int
	value  error
	encode func(error) (any, bool)
	decode func(json.RawMessage) (error, error)
}

// Value is an error that callers find with errors.Is. A code that is not 0 travels
// beside the name, for programs that tell errors by number.
func Value(name string, code int, err error) KnownError {
	return KnownError{name: name, code: code, value: err}
}

// Type is an error that callers find with errors.As. It travels as JSON in a field of
// the reply, in the place of which no output has anything.
func Type[E error](field string) KnownError {
	return KnownError{
		name: field,
		encode: func(err error) (any, bool) {
			var e E
			found := errors.As(err, &e)
			return e, found
		},
		decode: func(raw json.RawMessage) (error, error) {
			var e E
			err := json.Unmarshal(raw, &e)
			return e, err
		},
	}
}

// failure is how an error begins a reply.
type failure struct {
	Error string `json:"error"`
	Code  int    `json:"code,omitempty"`
	Name  string `json:"error_name,omitempty"`
}

// encode returns the fields of a reply that say what failed: a JSON object.
func (all Errors) encode(err error) ([]byte, error) {
	f := failure{Error: err.Error()}
	var typed []byte
	for _, k := range all {
		switch {
		case k.encode != nil:
			if v, is := k.encode(err); is {
				raw, err := json.Marshal(map[string]any{k.name: v})
				if err != nil {
					return nil, err
				}
				typed = join(typed, raw)
			}
		case f.Name == "" && errors.Is(err, k.value):
			f.Name, f.Code = k.name, k.code
		}
	}
	raw, failed := json.Marshal(f)
	if failed != nil {
		return nil, failed
	}
	return join(raw, typed), nil
}

// decode returns the error that a reply tells of.
func (all Errors) decode(raw []byte) error {
	var f failure
	var fields map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &f), json.Unmarshal(raw, &fields)); err != nil {
		return err
	}
	if f.Error == "" {
		return nil
	}
	said := &RemoteError{Text: f.Error}
	for _, k := range all {
		switch {
		case k.decode != nil && fields[k.name] != nil:
			is, err := k.decode(fields[k.name])
			if err != nil {
				return errors.Join(said, err)
			}
			if is.Error() == f.Error {
				return is
			}
			said.Is = is
		case k.value != nil && said.Is == nil && (k.name == f.Name || f.Name == "" && k.code == f.Code && f.Code != 0):
			said.Is = k.value
		}
	}
	return said
}

// join makes one JSON object of two.
func join(a, b []byte) []byte {
	const empty = len("{}")
	switch {
	case len(a) <= empty:
		return b
	case len(b) <= empty:
		return a
	}
	return append(append(a[:len(a)-1:len(a)-1], ','), b[1:]...)
}

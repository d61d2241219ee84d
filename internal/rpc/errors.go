package rpc

import (
	"encoding/json"
	"errors"
)

var (
	// ErrBusy is the error of a server that handles as many requests as it may.
	ErrBusy = errors.New("the session is busy with other requests; try again")
	// ErrTooMany is the error of a server for a caller who makes more requests than it takes
	// of one.
	ErrTooMany = errors.New("this program makes more requests than the session takes of one; make them one after another, or wait a second")
	// ErrNotPermitted reports a request that the NATS server refuses to its caller.
	ErrNotPermitted = errors.New("the server refuses it")
)

// RemoteError is an error of another process.
type RemoteError struct {
	Text  string
	Known error // the known error that it represents, or nil
}

func (e *RemoteError) Error() string { return e.Text }

// Unwrap returns the known error.
func (e *RemoteError) Unwrap() error { return e.Known }

// Errors are the errors that a server and its clients share.
type Errors []KnownError

// KnownError is an error that keeps its identity between processes.
type KnownError struct {
	name   string
	code   int
	value  error
	encode func(error) (any, bool)
	decode func(json.RawMessage) (error, error)
}

// Value is an error for errors.Is. A code other than 0 is sent with the name, for programs
// that distinguish errors by number.
func Value(name string, code int, err error) KnownError {
	return KnownError{name: name, code: code, value: err}
}

// Type is an error for errors.As. It is sent as JSON in a field of the reply that no output
// uses.
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

// failure holds the first fields of a reply with an error.
type failure struct {
	Error string `json:"error"`
	Code  int    `json:"code,omitempty"`
	Name  string `json:"error_name,omitempty"`
}

// encode returns the fields of a reply with an error: a JSON object.
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

// decode returns the error in a reply, or nil.
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
			said.Known = is
		case k.value != nil && said.Known == nil && (k.name == f.Name || f.Name == "" && k.code == f.Code && f.Code != 0):
			said.Known = k.value
		}
	}
	return said
}

// join joins two JSON objects.
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

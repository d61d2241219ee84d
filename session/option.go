package session

// OptionError reports a value that an option cannot have. It is the caller's
// mistake: nothing was started.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

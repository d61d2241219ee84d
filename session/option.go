package session

// OptionError reports an invalid value of an option. It is the caller's mistake: nothing
// was started.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

package budget

// Request is what a request may use. Money of a model without a price is Unpriced.
type Request struct {
	Model     string
	Unpriced  bool
	Input     int64  // tokens
	InputCost USD    // of the whole input
	TokenCost USD    // of one token of output
	Output    int64  // the most tokens of the answer
	Floor     int64  // fewer are of no use: the request is refused
	Enough    int64  // others in flight are not waited for to give it more
	Waits     func() `json:"-"` // told once if the request has to wait; may be nil
}

// Amount is all that the request uses with an answer of so many tokens.
func (r Request) Amount(output int64) Amount {
	return Amount{Money: r.InputCost + USD(output)*r.TokenCost, Tokens: r.Input + output, Requests: 1}
}

package session

import "math"

// Usage is what models were used: tokens, and what they cost in millionths of a
// US dollar, as far as the agent tells. None of it is ever negative.
type Usage struct {
	TokensIn   int64
	TokensOut  int64
	CostMicros int64
}

// Plus adds two usages.
func (u Usage) Plus(more Usage) Usage {
	return Usage{plus(u.TokensIn, more.TokensIn), plus(u.TokensOut, more.TokensOut), plus(u.CostMicros, more.CostMicros)}
}

// Minus is what u is more than less.
func (u Usage) Minus(less Usage) Usage {
	return Usage{u.TokensIn - less.TokensIn, u.TokensOut - less.TokensOut, u.CostMicros - less.CostMicros}
}

// plus adds to a sum, which stays at the bounds rather than pass them.
func plus(sum, n int64) int64 {
	if n > math.MaxInt64-sum {
		return math.MaxInt64
	}
	return max(0, sum+n)
}

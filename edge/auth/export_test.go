package auth

// NewProofs are proofs in memory.
var NewProofs = newProofs

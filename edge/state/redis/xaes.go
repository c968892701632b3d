package redis

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
)

// xaes is XAES-256-GCM, as in c2sp.org/XAES-256-GCM: AES-256-GCM with nonces of 24 bytes, which may
// be random. The first half of a nonce derives the key of AES-256-GCM, by the KDF of NIST SP
// 800-108 with CMAC, and the second half is its nonce.
type xaes struct {
	block cipher.Block
	k1    [aes.BlockSize]byte // the subkey K1 of CMAC
}

// newXAES takes a key of 32 bytes.
func newXAES(key []byte) (*xaes, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	x := &xaes{block: block}
	block.Encrypt(x.k1[:], x.k1[:])
	var carry byte
	for i := len(x.k1) - 1; i >= 0; i-- {
		x.k1[i], carry = x.k1[i]<<1|carry, x.k1[i]>>7
	}
	x.k1[len(x.k1)-1] ^= carry * 0x87
	return x, nil
}

// aead returns the AES-256-GCM for a nonce. It must be used with the last 12 bytes of the nonce.
func (x *xaes) aead(nonce [nonceSize]byte) cipher.AEAD {
	var key [2 * aes.BlockSize]byte
	for i := range 2 {
		half := key[i*aes.BlockSize : (i+1)*aes.BlockSize]
		half[1], half[2] = byte(i+1), 'X'
		copy(half[4:], nonce[:12])
		subtle.XORBytes(half, half, x.k1[:])
		x.block.Encrypt(half, half)
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // The key has the length of one.
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // The block has the size of AES.
	}
	return gcm
}

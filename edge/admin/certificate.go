package admin

import "net/http"

// requireClientCert rejects requests without a client certificate that the listener has verified, except
// for the probes and JWKSPath.
func (g guard) requireClientCert(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open := r.URL.Path == livePath || r.URL.Path == readyPath || r.URL.Path == JWKSPath
		if !open && (r.TLS == nil || len(r.TLS.VerifiedChains) == 0) {
			g.Refuse(w, http.StatusForbidden, "a client certificate is required: send one issued by a CA of admin.tls.client-ca")
			return
		}
		next.ServeHTTP(w, r)
	})
}

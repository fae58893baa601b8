//! Clusters of ARC, as a stub answers for them: what A-REX 7 answered by REST, over TLS. Clients show
//! a proxy, a certificate or a token.

mod authority;
mod client;
mod example;
mod once;
mod stub;
mod verb;

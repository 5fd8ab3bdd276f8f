//! The barest proxy: what every proxy on hyper costs before it looks at anything.

use crate::Failed;
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::http::uri::{Authority, Scheme};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use tokio::net::TcpListener;

type Outward = Client<HttpConnector, Incoming>;

/// Serves until it is stopped.
pub(crate) async fn serve(listener: TcpListener, upstream: SocketAddr) -> Result<(), Failed> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Outward = Client::builder(TokioExecutor::new()).build(connector);
    let upstream: Authority = upstream.to_string().parse()?;
    loop {
        let (connection, _) = listener.accept().await?;
        connection.set_nodelay(true)?;
        let (client, upstream) = (client.clone(), upstream.clone());
        let service = service_fn(move |request| hand_on(client.clone(), upstream.clone(), request));
        let served = http1::Builder::new().serve_connection(TokioIo::new(connection), service);
        // A client that goes away ends its connection and nothing else.
        tokio::spawn(async { served.await.ok() });
    }
}

async fn hand_on(
    client: Outward,
    upstream: Authority,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, Failed> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    (parts.scheme, parts.authority) = (Some(Scheme::HTTP), Some(upstream));
    *request.uri_mut() = Uri::from_parts(parts)?;
    request.headers_mut().remove(HOST);
    Ok(client.request(request).await?)
}

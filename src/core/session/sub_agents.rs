//! Sub-agents whose work is in the file of the session that called them.

use super::pairing::Session;

/// How readers begin the label of such a session.
pub const SIDE_CHAIN: &str = "side chain";

/// Whether a session of a file is the work of a sub-agent.
pub fn is_sub_agent(session: &Session) -> bool {
    !session.active && session.label.starts_with(SIDE_CHAIN)
}

/// The sub-agents of a session of a file, by index. One whose label does not name its session belongs to the first that
/// the run would go on from.
pub fn sub_agents_of(sessions: &[Session], session: usize) -> Vec<usize> {
    let caller_of = |agent: &Session| {
        let names = |one: &Session| agent.label.contains(&format!(" of {}: ", one.label));
        let active = || sessions.iter().enumerate().filter(|(_, one)| one.active);
        let named = active().find(|(_, one)| !one.label.is_empty() && names(one));
        named.or_else(|| active().next()).map(|(caller, _)| caller)
    };
    let agents = sessions.iter().enumerate();
    let agents = agents.filter(|(_, agent)| is_sub_agent(agent));
    let own = agents.filter(|(_, agent)| caller_of(agent) == Some(session));
    own.map(|(index, _)| index).collect()
}

//! image-limits: more pictures than a request may hold, or larger ones.

use super::malformed_message::first_unproven;
use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Dialect, Flags, Kind, Session};
use crate::wire::images::{Image, images_of};

pub(crate) static RULE: Rule = Rule {
    id: "image-limits",
    severity: Severity::Error,
    summary: "more or larger pictures than the provider takes in one request",
    message: "{fault}",
    page: RulePage {
        what: "A picture of more than 8000 pixels on a side; of more than 2000 where the request holds more \
            than 20 pictures; more than 100 pictures.",
        why: "Anthropic refuses the request: \"At least one of the image dimensions exceed max allowed size for \
            many-image requests: 2000 pixels\". All pictures of the history count, those in tool results too, \
            so an old picture turns fatal when the twenty-first arrives, and every later request is refused.",
        example: "21 screenshots in the history, the third of them 2162 pixels wide.",
        what_to_do: "Drop the picture, or put a smaller one in its place. A compaction takes old pictures out.",
        limits: "Judged for Anthropic and for its models. Sizes are read from the headers of PNG, JPEG, GIF and \
            WebP in base64; a picture given by URL or file has none. Of recordings that are not requests, what \
            a reply followed was taken. The size of a request in bytes is not judged.",
    },
    offers: &[Offer::unsafe_("drop-item"), Offer::manual("edit")],
    scope: Scope::Session(check),
};

/// Most pictures of one request (Anthropic's documentation of vision, pi#401).
const MOST: usize = 100;
/// From so many on the stricter limit holds (crush#3810).
const MANY: usize = 20;
/// Most pixels on a side, and with many pictures in the request (claude-code#4778, claude-code#49537).
const LONGEST: u32 = 8000;
const LONGEST_OF_MANY: u32 = 2000;

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let target = run.target.facts();
    // No one asks Anthropic's models in a flat list of items.
    let may_ask = target.calls_key.is_some();
    let of_model = session.model.as_deref().and_then(Dialect::of_model);
    let is_for_anthropic = target.caps_many_images
        || (may_ask && of_model.is_some_and(|dialect| dialect.facts().caps_many_images));
    let Some(taken) = taken_before(session).filter(|_| is_for_anthropic) else {
        return;
    };
    let images = images(session);
    let before = images.partition_point(|(index, _)| *index < taken);
    let faults = faults(&images);
    let known = self::faults(&images[..before]);
    for (item, fault) in faults {
        if known.iter().any(|(taken, _)| *taken == item) {
            continue;
        }
        let is_block = session.items[item].kind == Kind::User;
        findings.push(
            Finding::new(&RULE, item)
                .warning_if(!session.contract.is_request)
                .fact("fault", fault)
                .offering(|offer| offer.action != "drop-item" || is_block)
                .in_branch_of(session),
        );
    }
}

/// Up to which item a provider has taken the history; `None` for recordings of which nothing was to be sent.
fn taken_before(session: &Session) -> Option<usize> {
    if session.format != "claude-code" {
        return first_unproven(session);
    }
    let last = session
        .items
        .iter()
        .rposition(|item| item.kind.is_from_model());
    Some(last.unwrap_or_default())
}

/// The pictures that the provider sees, each with the index of its item.
fn images(session: &Session) -> Vec<(usize, Image)> {
    let mut found = Vec::new();
    let mut bytes = Vec::new();
    for (index, item) in session.items.iter().enumerate() {
        let may_hold = matches!(item.kind, Kind::User | Kind::Output);
        // Bytes that cannot be read have been reported by the item pass.
        if may_hold
            && !item.flags.has(Flags::COMPACTED)
            && !item.flags.has(Flags::NO_PICTURE)
            && session.source.read_into(item.span, &mut bytes).is_ok()
        {
            let images = images_of(item, &bytes);
            found.extend(images.into_iter().map(|image| (index, image)));
        }
    }
    found
}

/// What is too much, by item: a picture that is too large, or the first that is too many.
fn faults(images: &[(usize, Image)]) -> Vec<(usize, String)> {
    let is_many = images.len() > MANY;
    let limit = if is_many { LONGEST_OF_MANY } else { LONGEST };
    let mut found: Vec<(usize, String)> = Vec::new();
    for (item, image) in images {
        let Some((width, height)) = image.size.filter(|(w, h)| *w.max(h) > limit) else {
            continue;
        };
        let within = match is_many {
            true => format!(" in a request of {} pictures", images.len()),
            false => String::new(),
        };
        let fault = format!(
            "this picture has {width} x {height} pixels: Anthropic takes {limit} on a side{within}"
        );
        if found.last().is_none_or(|(last, _)| last != item) {
            found.push((*item, fault));
        }
    }
    if let Some((item, _)) = images.get(MOST) {
        let count = images.len();
        let place = MOST + 1;
        let fault =
            format!("this is picture {place} of {count}: Anthropic takes {MOST} in a request");
        found.push((*item, fault));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::Severity;
    use crate::rules::fixture::{Fixture, fixture};

    /// The head of a PNG file of 2162 x 64 pixels, of one of 64 x 64, and of one of 8001 x 64.
    const WIDE: &str = "iVBORw0KGgoAAAANSUhEUgAACHIAAABA";
    const SMALL: &str = "iVBORw0KGgoAAAANSUhEUgAAAEAAAABA";
    const HUGE: &str = "iVBORw0KGgoAAAANSUhEUgAAH0EAAABA";

    fn block(data: &str) -> String {
        format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
        )
    }

    fn request(images: &[&str]) -> Fixture {
        let blocks: Vec<String> = images.iter().map(|data| block(data)).collect();
        fixture(&format!(
            r#"{{"model":"claude-opus-4-8","max_tokens":10,"messages":[{{"role":"user","content":[{}]}}]}}"#,
            blocks.join(",")
        ))
    }

    #[test]
    fn with_many_pictures_a_smaller_size_is_allowed() {
        let mut images = vec![WIDE];
        images.extend([SMALL; 19]);
        request(&images).expect(&RULE, &[]);
        images.push(SMALL);
        request(&images).expect(&RULE, &["#1"]);
        assert_eq!(
            request(&images).finding(&RULE).message(),
            "this picture has 2162 x 64 pixels: Anthropic takes 2000 on a side in a request of 21 pictures"
        );
    }

    #[test]
    fn one_picture_may_be_too_large_and_a_hundred_too_many() {
        request(&[SMALL, HUGE]).expect(&RULE, &["#2"]);
        request(&[SMALL; 100]).expect(&RULE, &[]);
        request(&[SMALL; 101]).expect(&RULE, &["#101"]);
    }

    #[test]
    fn pictures_in_results_count_and_cannot_be_dropped_alone() {
        let small = [block(SMALL).as_str(); 20].join(",");
        let story = fixture(&format!(
            r#"{{"model":"claude-opus-4-8","max_tokens":10,"messages":[{{"role":"user","content":"look"}},
            {{"role":"assistant","content":[{{"type":"tool_use","id":"toolu_1","name":"see","input":{{}}}}]}},
            {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_1","content":[{},{small}]}}]}}]}}"#,
            block(WIDE)
        ));
        story.expect(&RULE, &["toolu_1"]);
        let offers = story.finding(&RULE).offers;
        assert!(offers.iter().all(|offer| offer.action != "drop-item"));
    }

    #[test]
    fn only_images_after_the_last_reply_are_judged() {
        let images = [block(SMALL).as_str(); 20].join(",");
        let list = |last: &str| {
            fixture(&format!(
                r#"[{{"role":"user","content":[{},{images}]}},{{"role":"assistant","content":[{{"type":"thinking","thinking":"a","signature":"c2ln"}},{{"type":"text","text":"ok"}}]}}{last}]"#,
                block(WIDE)
            ))
        };
        list("").expect(&RULE, &[]);
        let more = format!(r#",{{"role":"user","content":[{}]}}"#, block(HUGE));
        assert_eq!(list(&more).finding(&RULE).severity, Severity::Warning);
    }

    #[test]
    fn other_providers_have_other_limits() {
        let parts = format!(
            r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{HUGE}"}}}}"#
        );
        let chat = |model: &str| {
            fixture(&format!(
                r#"{{"model":"{model}","messages":[{{"role":"user","content":[{parts}]}}]}}"#
            ))
        };
        chat("gpt-5").expect(&RULE, &[]);
        chat("anthropic/claude-opus-4.8").expect(&RULE, &["#1"]);
    }
}

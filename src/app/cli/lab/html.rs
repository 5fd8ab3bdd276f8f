//! The report as a page of its own: no script, nothing fetched, bars drawn as SVG, light and
//! dark, good on paper.

use super::results::{Results, Row, Standing, TrialResults, baseline_name, left_out, place};
use retake_core::lab::{CLASSES, Class, words};
use retake_core::redact::shareable;
use retake_core::safe_text::SafeText;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");

pub(super) fn html(results: &Results<'_>) -> String {
    let mut page = Page(String::new());
    let name = escaped(&results.experiment().name);
    page.add(format_args!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
        http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
        'unsafe-inline'\">\n<meta name=\"viewport\" \
        content=\"width=device-width\">\n<title>{name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
    ));
    for sentence in results.opening() {
        page.add(format_args!("<p>{}</p>\n", escaped(&sentence)));
    }
    for trial in &results.trials {
        page.trial(trial);
    }
    for together in &results.together {
        let title = escaped(&together.title());
        page.add(format_args!("<section>\n<h2>{title}</h2>\n"));
        page.table(together.rows.iter());
        page.list(together.remark().as_slice());
        page.add(format_args!("</section>\n"));
    }
    page.left_out(results);
    page.assertions(results);
    page.list(&words::legend(results.experiment()));
    page.add(format_args!("</body>\n</html>\n"));
    page.0
}

struct Page(String);

impl Page {
    /// Writing to a text does not fail.
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        let _infallible = self.0.write_fmt(text);
    }

    fn trial(&mut self, trial: &TrialResults<'_>) {
        let subject = &trial.trial.subject;
        let rule = escaped(&subject.rule);
        self.add(format_args!("<section>\n<h2>{}. {rule}", trial.number));
        if !subject.tool.is_empty() {
            self.add(format_args!(": <code>{}</code>", escaped(&subject.tool)));
        }
        let scripted = match trial.trial.is_scripted {
            true => " <strong>[scripted]</strong>",
            false => "",
        };
        let (place, model) = (escaped(&place(subject)), escaped(&trial.trial.model));
        let meant = escaped(&words::meant(&subject.meant));
        self.add(format_args!(
            "</h2>\n<p>{place}; model {model}{scripted}; {meant}</p>\n"
        ));
        self.table(trial.rows());
        self.list(&trial.remarks);
        for standing in &trial.standings {
            self.wording(standing);
        }
        if !trial.journal.is_empty() {
            let path = escaped(&shell_words::quote(&trial.journal));
            self.add(format_args!(
                "<p>Every sample is a take; to open them: <code>retake {path}</code></p>\n"
            ));
        }
        self.add(format_args!("</section>\n"));
    }

    fn table<'a>(&mut self, rows: impl Iterator<Item = &'a Row> + Clone) {
        let baseline = escaped(baseline_name(rows.clone()));
        self.add(format_args!(
            "<table>\n<thead><tr><th>wording</th><th class=\"bar\">0 to 100 % corrected</th><th>rate</th><th>95 %</th>\
             <th>points vs {baseline}</th><th>answers</th><th>tokens</th><th>time</th></tr></thead>\n<tbody>\n"
        ));
        for row in rows {
            self.row(row);
        }
        self.add(format_args!("</tbody>\n</table>\n"));
    }

    fn row(&mut self, row: &Row) {
        let [name, title] = [&row.name, &row.title].map(|text| escaped(text));
        let bar = drawing(row);
        let measured = &row.measured;
        let rate = words::rate(measured.rate());
        let interval = row.interval().map_or_else(String::new, words::interval);
        let class = match row.is_better() {
            Some(true) => "better",
            Some(false) => "worse",
            None => "same",
        };
        let points = row.points();
        let tokens = [measured.input, measured.output];
        let [input, output] = tokens.map(|tokens| words::thousands(tokens.unwrap_or(0)));
        let ms = measured.ms.map_or_else(String::new, words::milliseconds);
        let (hits, of) = (measured.corrected.hits(), measured.answered());
        self.add(format_args!(
            "<tr><th scope=\"row\" title=\"{title}\">{name}</th><td \
            class=\"bar\">{bar}</td><td>{rate}</td><td>{interval}</td><td \
            class=\"{class}\">{points}</td><td>{hits} of {of}</td><td>{input} + \
            {output}</td><td>{ms}</td></tr>\n"
        ));
    }

    /// The words of a wording and its samples by class.
    fn wording(&mut self, standing: &Standing<'_>) {
        let name = escaped(&standing.row.name);
        let origin = standing.variant.origin.word();
        let words = escaped(&standing.variant.words);
        self.add(format_args!(
            "<details>\n<summary><b>{name}</b> ({origin})</summary>\n<pre>{words}</pre>\n"
        ));
        for (class, count) in standing.row.occurred() {
            let (word, meaning) = (class.word(), meaning(class));
            self.add(format_args!(
                "<details>\n<summary>{count} {word}: {meaning}</summary>\n<ol>\n"
            ));
            for (number, sample) in (1..).zip(standing.samples) {
                if sample.class == class {
                    let why = escaped(&sample.why);
                    let take = sample.take.map(|take| format!(" (take {take})"));
                    let take = take.unwrap_or_default();
                    self.add(format_args!("<li value=\"{number}\">{why}{take}</li>\n"));
                }
            }
            self.add(format_args!("</ol>\n</details>\n"));
        }
        self.add(format_args!("</details>\n"));
    }

    fn list(&mut self, sentences: &[String]) {
        if sentences.is_empty() {
            return;
        }
        self.add(format_args!("<ul>\n"));
        for sentence in sentences {
            self.add(format_args!("<li>{}</li>\n", escaped(sentence)));
        }
        self.add(format_args!("</ul>\n"));
    }

    fn left_out(&mut self, results: &Results<'_>) {
        let left_out: Vec<String> = results.experiment().left_out.iter().map(left_out).collect();
        if left_out.is_empty() {
            return;
        }
        self.add(format_args!("<section>\n<h2>Left out</h2>\n"));
        self.list(&left_out);
        self.add(format_args!("</section>\n"));
    }

    fn assertions(&mut self, results: &Results<'_>) {
        if results.assertions.is_empty() {
            return;
        }
        self.add(format_args!("<section>\n<h2>Assertions</h2>\n<ul>\n"));
        for assertion in &results.assertions {
            let (word, sentence) = (assertion.verdict.word(), escaped(&assertion.sentence));
            self.add(format_args!(
                "<li><b class=\"{word}\">{word}</b>: {sentence}</li>\n"
            ));
        }
        self.add(format_args!("</ul>\n</section>\n"));
    }
}

/// The rate and its interval on a scale of 100 by 10.
fn drawing(row: &Row) -> String {
    let mut svg =
        "<svg viewBox=\"-1 0 102 10\" preserveAspectRatio=\"none\" role=\"img\"".to_owned();
    let (Some(rate), Some(interval)) = (row.measured.rate(), row.interval()) else {
        return svg + " aria-label=\"no answer\"><path class=\"scale\" d=\"M0 5H100\"/></svg>";
    };
    let label = format!("{}, {}", words::rate(Some(rate)), words::interval(interval));
    let (low, high) = (interval.low * 100.0, interval.high * 100.0);
    let left = rate * 100.0 - 1.0;
    let _infallible = write!(
        svg,
        " aria-label=\"{}\"><path class=\"scale\" d=\"M0 5H100M0 4V6M50 4V6M100 4V6\"/>\
         <path class=\"range\" d=\"M{low:.1} 5H{high:.1}M{low:.1} 2V8M{high:.1} 2V8\"/>\
         <rect class=\"rate\" x=\"{left:.1}\" y=\"1\" width=\"2\" height=\"8\"/></svg>",
        escaped(&label)
    );
    svg
}

fn meaning(class: Class) -> &'static str {
    let mut classes = CLASSES.iter();
    let found = classes.find(|(known, ..)| *known == class);
    found.map_or("", |(.., meaning)| meaning)
}

/// Text from outside for any place of the page: drawable, no markup, and without secrets, for
/// pages are sent around.
fn escaped(text: &str) -> String {
    let safe = SafeText::from_str(&shareable(text));
    let mut out = String::with_capacity(text.len());
    for character in safe.as_plain().chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_no_markup() {
        assert_eq!(
            escaped("<script>a && 'b' \"c\"</script>"),
            "&lt;script&gt;a &amp;&amp; &#39;b&#39; &quot;c&quot;&lt;/script&gt;"
        );
        assert_eq!(escaped("a\u{202e}b"), "a\\u{202e}b");
        let arguments = r#"login {"user": "me", "password": "hunter2-Zq7v"}"#;
        assert!(!escaped(arguments).contains("hunter2"));
        assert!(escaped(arguments).contains("[redacted password]"));
    }
}
